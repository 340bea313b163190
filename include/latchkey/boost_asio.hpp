// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Waiting with Boost.Asio: `async_acquire(lock, token)` and its kin, with any completion token. Needs its headers, which
/// latchkey itself does not use. One file includes this or asio.hpp, not both.

#ifdef LATCHKEY_ASIO_INCLUDED
#error "latchkey: one file includes boost_asio.hpp or asio.hpp, not both"
#endif
#define LATCHKEY_ASIO_INCLUDED

#include <atomic>
#include <chrono>
#include <cstdint>
#include <exception>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include <boost/asio/associated_allocator.hpp>
#include <boost/asio/associated_executor.hpp>
#include <boost/asio/async_result.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/execution.hpp>
#include <boost/asio/execution_context.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/query.hpp>
#include <boost/asio/version.hpp>
#include <boost/system/system_error.hpp>

#include <latchkey/async.hpp>

#if BOOST_ASIO_VERSION >= 101900
#define LATCHKEY_ASIO_SLOTS
#endif
#ifdef LATCHKEY_ASIO_SLOTS
#include <boost/asio/associated_cancellation_slot.hpp>
#endif

#define LATCHKEY_ASIO ::boost::asio
#define LATCHKEY_ASIO_FORM with_boost_asio
#define LATCHKEY_ASIO_ERROR ::boost::system::system_error
#include <latchkey/asio_form.inc>
#undef LATCHKEY_ASIO
#undef LATCHKEY_ASIO_FORM
#undef LATCHKEY_ASIO_ERROR
#undef LATCHKEY_ASIO_SLOTS
