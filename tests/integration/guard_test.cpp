// SPDX-License-Identifier: Apache-2.0
// Guards, and unlocking by the wrong thread.
#include <latchkey/guard.hpp>

#include <chrono>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <system_error>
#include <type_traits>
#include <utility>

#include <doctest/doctest.h>

#include <latchkey/testing/raw_client.hpp>

#include "log_lines.hpp"
#include "support/family.hpp"
#include "support/reached.hpp"
#include "support/support.hpp"
#include "support/two_clients.hpp"

namespace latchkey::testing {
namespace {

/// A read-write lock whose guards read.
struct guarded_reader : shared_mutex {
  guarded_reader(client& owner, std::string path) : shared_mutex{owner, std::move(path)} {}
  guard acquire() { return acquire_shared(); }
  guard acquire(std::stop_token stop) { return acquire_shared(std::move(stop)); }
  guard try_acquire() { return try_acquire_shared(); }
  guard try_acquire_for(std::chrono::milliseconds timeout) { return try_acquire_shared_for(timeout); }
  void lock() { lock_shared(); }
  void unlock() noexcept { unlock_shared(); }
  grant held() const { return held_shared(); }
};

/// The rival wants the lock alone.
template <class Lock>
using rivals = two_clients<Lock, std::conditional_t<std::is_same_v<Lock, guarded_reader>, writer, Lock>>;

constexpr const char* wrong = "by a fiber that has not locked it, and was ignored";

}  // namespace

#define LATCHKEY_GUARDED plain_mutex, lingering_mutex, fair, reentrant, writer, guarded_reader

TEST_SUITE("guard") {
  TEST_CASE_TEMPLATE("a guard holds the lock, and releases it at the end of its scope", Lock, LATCHKEY_GUARDED) {
    rivals<Lock> w;
    {
      const auto held = w.lock.acquire();
      CHECK(held);
      CHECK(held.grant() == w.lock.held());
      CHECK(held.fence() == w.lock.held().fence());
      CHECK(w.is_held());
    }
    CHECK(w.is_free());
    CHECK_FALSE(w.lock.held());
    CHECK(eventually([&] { return queue_at(w.path).empty(); }));
  }

  TEST_CASE_TEMPLATE("what cannot be taken in time, or before stop is requested, is an empty guard", Lock,
                     LATCHKEY_GUARDED) {
    rivals<Lock> w;
    w.rival.lock();
    CHECK_FALSE(w.lock.try_acquire());
    CHECK_FALSE(w.lock.try_acquire_for(20ms));
    std::stop_source stopped;
    stopped.request_stop();
    auto none = w.lock.acquire(stopped.get_token());
    CHECK_FALSE(none);
    CHECK(none.grant() == grant{});
    none.release();
    w.rival.unlock();
    CHECK(w.lock.try_acquire_for(patience()));
  }

  TEST_CASE_TEMPLATE("a guard may be moved to another thread, which releases the lock", Lock, LATCHKEY_GUARDED) {
    rivals<Lock> w;
    auto held = w.lock.acquire();
    elsewhere([&w, mine = std::move(held)]() mutable {
      CHECK(mine);
      CHECK(w.is_held());
      mine.release();
      CHECK_FALSE(mine);
    });
    CHECK_FALSE(held);
    CHECK(w.is_free());
  }

  TEST_CASE_TEMPLATE("whose guard has been moved may wait for the lock again", Lock, plain_mutex, fair, reentrant,
                     writer) {
    rivals<Lock> w;
    auto first = w.lock.acquire();
    const auto fence = first.fence();
    std::optional<guard> moved{std::move(first)};
    CHECK_FALSE(w.lock.try_acquire_for(20ms));
    std::jthread releases{[&] { moved->release(); }};
    const auto second = w.lock.acquire();
    CHECK(second.fence() > fence);
    CHECK(second);
  }

  TEST_CASE_TEMPLATE("a fiber that would wait for its own guard is told so", Lock, plain_mutex, fair, writer,
                     guarded_reader) {
    rivals<Lock> w;
    const auto held = w.lock.acquire();
    CHECK_THROWS_AS(static_cast<void>(w.lock.acquire()), std::system_error);
    CHECK_THROWS_AS(w.lock.lock(), std::system_error);
    CHECK(held);
  }

  TEST_CASE_TEMPLATE("unlock() by another thread, or twice, does nothing and is logged", Lock, LATCHKEY_GUARDED) {
    const log_lines log;
    rivals<Lock> w;
    w.lock.lock();
    elsewhere([&] { w.lock.unlock(); });
    CHECK(w.lock.held());
    CHECK(w.is_held());
    const auto said = log.with(w.path);
    REQUIRE(said.size() == 1);
    CAPTURE(said.front());
    CHECK(said.front().find(wrong) != std::string::npos);
    w.lock.unlock();
    CHECK(log.with(w.path).size() == 1);
    w.lock.unlock();
    CHECK(log.with(w.path).size() == 2);
    CHECK(w.is_free());
  }

  TEST_CASE_TEMPLATE("only its guard releases what a guard holds", Lock, plain_mutex, fair, writer, guarded_reader) {
    const log_lines log;
    rivals<Lock> w;
    auto held = w.lock.acquire();
    w.lock.unlock();
    CHECK(held);
    CHECK(w.is_held());
    CHECK(log.with(w.path).size() == 1);
    held.release();
    CHECK(w.is_free());
  }

  TEST_CASE("unlock() gives back no level of a reentrant mutex that has a guard") {
    const log_lines log;
    rivals<reentrant> w;
    const auto held = w.lock.acquire();
    w.lock.unlock();
    CHECK(log.with(w.path).size() == 1);
    CHECK(error_of([&] { w.lock.unlock_checked(); }) == not_permitted);
    CHECK(held);
    CHECK(w.is_held());
    w.lock.lock();
    w.lock.unlock();
    CHECK(log.with(w.path).size() == 1);
    CHECK(w.lock.depth() == 1);
  }

  TEST_CASE("a guard of a reentrant mutex gives back its own level") {
    rivals<reentrant> w;
    w.lock.lock();
    auto again = w.lock.acquire();
    CHECK(w.lock.depth() == 2);
    elsewhere([mine = std::move(again)]() mutable { mine.release(); });
    CHECK(w.lock.depth() == 1);
    CHECK(w.is_held());
    w.lock.unlock();
    CHECK(w.is_free());
  }

  TEST_CASE_TEMPLATE("a guard whose grant was lost releases nothing of who holds the lock then", Lock,
                     LATCHKEY_GUARDED) {
    rivals<Lock> w;
    auto held = w.lock.acquire();
    raw_client outside{servers().address(0)};
    const auto lost = held.stop_token();
    REQUIRE(outside.remove(w.path + "/" + queue_at(w.path).front()));
    REQUIRE(eventually([&] { return lost.stop_requested(); }));
    CHECK_FALSE(held);
    CHECK(held.grant().loss() == loss_reason::node_deleted);
    w.rival.lock();
    held.release();
    CHECK(w.rival.held());
    CHECK_FALSE(w.lock.try_acquire());
    w.rival.unlock();
    CHECK(w.lock.try_acquire_for(patience()));
  }

  TEST_CASE("a released guard does not release the next turn") {
    rivals<plain_mutex> w;
    auto first = w.lock.acquire();
    auto copy = first.grant();
    first.release();
    const auto second = w.lock.acquire();
    first.release();
    CHECK(second);
    CHECK(copy != second.grant());
    first = guard{};
    CHECK(second);
  }

  TEST_CASE_TEMPLATE("a guard may outlive its lock and its client", Lock, LATCHKEY_GUARDED) {
    const auto path = fresh_path();
    guard held;
    {
      client owner{servers().connect_string(), quick()};
      Lock lock{owner, path};
      held = lock.acquire();
      CHECK(held);
    }
    CHECK_FALSE(held);
    held.release();
    CHECK(eventually([&] { return queue_at(path).empty(); }));
  }

  TEST_CASE("a token may combine the loss with the caller's own shutdown") {
    rivals<plain_mutex> w;
    std::stop_source shutdown;
    auto held = w.lock.acquire();
    const auto by_shutdown = held.stop_token(shutdown.get_token());
    CHECK_FALSE(by_shutdown.stop_requested());
    shutdown.request_stop();
    CHECK(by_shutdown.stop_requested());
    CHECK(held);
    const auto by_loss = held.stop_token(std::stop_source{}.get_token());
    CHECK_FALSE(by_loss.stop_requested());
    raw_client outside{servers().address(0)};
    REQUIRE(outside.remove(w.path + "/" + queue_at(w.path).front()));
    CHECK(eventually([&] { return by_loss.stop_requested(); }));
  }

  TEST_CASE("readers of one object may each have a guard, and release it anywhere") {
    rivals<guarded_reader> w;
    auto first = w.lock.acquire_shared();
    std::optional<guard> second;
    elsewhere([&] { second = w.lock.acquire_shared(); });
    CHECK(first);
    CHECK(*second);
    elsewhere([mine = std::move(first)]() mutable { mine.release(); });
    CHECK(w.is_held());
    auto again = w.lock.acquire_shared();  // by the fiber whose guard has been moved
    CHECK(again);
    second->release();
    CHECK(w.is_held());
    again.release();
    CHECK(w.is_free());
  }
}

}  // namespace latchkey::testing
