// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Waiting with standalone Asio: `async_acquire(lock, token)` and its kin, with any completion token. Needs its headers, which
/// latchkey itself does not use. One file includes this or boost_asio.hpp, not both.

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

#include <asio/associated_allocator.hpp>
#include <asio/associated_executor.hpp>
#include <asio/async_result.hpp>
#include <asio/error.hpp>
#include <asio/execution.hpp>
#include <asio/execution_context.hpp>
#include <asio/executor_work_guard.hpp>
#include <asio/post.hpp>
#include <asio/query.hpp>
#include <asio/system_error.hpp>
#include <asio/version.hpp>

#include <latchkey/async.hpp>

#if ASIO_VERSION >= 101900
#define LATCHKEY_ASIO_SLOTS
#endif
#ifdef LATCHKEY_ASIO_SLOTS
#include <asio/associated_cancellation_slot.hpp>
#endif

#define LATCHKEY_ASIO ::asio
#define LATCHKEY_ASIO_FORM with_asio
#define LATCHKEY_ASIO_ERROR ::asio::system_error
#include <latchkey/asio_form.inc>
#undef LATCHKEY_ASIO
#undef LATCHKEY_ASIO_FORM
#undef LATCHKEY_ASIO_ERROR
#undef LATCHKEY_ASIO_SLOTS
