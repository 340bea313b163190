// SPDX-License-Identifier: Apache-2.0
#include <utility>

#include <asio/awaitable.hpp>
#include <asio/bind_cancellation_slot.hpp>
#include <asio/bind_executor.hpp>
#include <asio/cancellation_signal.hpp>
#include <asio/co_spawn.hpp>
#include <asio/detached.hpp>
#include <asio/experimental/awaitable_operators.hpp>
#include <asio/experimental/deferred.hpp>
#include <asio/io_context.hpp>
#include <asio/steady_timer.hpp>
#include <asio/strand.hpp>
#include <asio/thread_pool.hpp>
#include <asio/use_awaitable.hpp>
#include <asio/use_future.hpp>

#include <latchkey/asio.hpp>

#define LATCHKEY_TEST_ASIO asio
#define LATCHKEY_TEST_SUITE "standalone Asio"
#include "asio_tests.inc"

#include <latchkey/mutex.hpp>

namespace latchkey::testing {

using namespace asio::experimental::awaitable_operators;

TEST_SUITE("standalone Asio") {
  TEST_CASE("cancellation of each type ends the wait, and completes with operation_aborted") {
    for (const auto type :
         {asio::cancellation_type::terminal, asio::cancellation_type::partial, asio::cancellation_type::total}) {
      asio_world w;
      auto held = w.theirs.acquire();
      asio::cancellation_signal signal;
      std::exception_ptr why;
      async_acquire(w.ours, asio::bind_cancellation_slot(
                                signal.slot(), asio::bind_executor(w.context, [&](std::exception_ptr failed, guard) {
                                  why = std::move(failed);
                                })));
      CHECK(queued(w.ensemble, w.path, 2));
      signal.emit(type);
      w.context.run();
      REQUIRE(why);
      CHECK(code_of(why) == asio::error::operation_aborted);
      CHECK(queued(w.ensemble, w.path, 1));
    }
  }

  TEST_CASE("of a wait and a timer the first to end ends the other") {
    asio_world w;
    auto held = w.theirs.acquire();
    std::size_t first = 9;
    const auto race = [&]() -> asio::awaitable<void> {
      asio::steady_timer timer{w.context, 20ms};
      first = (co_await (async_acquire(w.ours, asio::use_awaitable) || timer.async_wait(asio::use_awaitable))).index();
      CHECK(queued(w.ensemble, w.path, 1));
      held.release();
      timer.expires_after(1h);
      auto taken = co_await (async_acquire(w.ours, asio::use_awaitable) || timer.async_wait(asio::use_awaitable));
      REQUIRE(taken.index() == 0);
      CHECK(std::get<0>(taken));
    };
    asio::co_spawn(w.context, race(), rethrown);
    w.context.run();
    CHECK(first == 1);
  }

  TEST_CASE("a deferred operation begins when it is started") {
    asio_world w;
    auto later = async_acquire(w.ours, asio::experimental::deferred);
    CHECK(queued(w.ensemble, w.path, 0));
    guard taken;
    std::move(later)(
        asio::bind_executor(w.context, [&](const std::exception_ptr&, guard mine) { taken = std::move(mine); }));
    w.context.run();
    CHECK(taken);
  }
}

}  // namespace latchkey::testing
