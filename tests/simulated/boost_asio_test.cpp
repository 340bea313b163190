// SPDX-License-Identifier: Apache-2.0
#include <utility>  // boost/asio/awaitable.hpp of 1.74 needs it

#include <boost/asio/awaitable.hpp>
#include <boost/asio/bind_executor.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/strand.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/use_future.hpp>

#include <latchkey/boost_asio.hpp>

#define LATCHKEY_TEST_ASIO boost::asio
#define LATCHKEY_TEST_SUITE "Boost.Asio"
#include "asio_tests.inc"
