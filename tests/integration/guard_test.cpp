// SPDX-License-Identifier: Apache-2.0
// Guards, and unlocking by the wrong thread.
#include <latchkey/fair_mutex.hpp>
#include <latchkey/guard.hpp>
#include <latchkey/mutex.hpp>
#include <latchkey/reentrant_mutex.hpp>
#include <latchkey/shared_mutex.hpp>

#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include <latchkey/testing/raw_client.hpp>

#include "log_lines.hpp"
#include "support/family.hpp"
#include "support/reached.hpp"
#include "support/support.hpp"
#include "support/two_clients.hpp"

namespace latchkey::testing {
namespace {

/// Two clients of one path: `lock` is under test, `rival` wants it alone.
struct rivals {
  explicit rivals(const kind_of_lock* kind) : lock{kind->make(one, path)}, rival{kind->make_rival(two, path)} {}

  std::string path = fresh_path();
  client one{servers().connect_string(), quick()};
  client two{servers().connect_string(), quick()};
  const std::unique_ptr<any_lockable> lock;
  const std::unique_ptr<any_lockable> rival;

  bool is_free() { return testing::is_free(*rival); }
  bool is_held() { return !rival->try_lock(); }
};

kinds_of_locks guarded() {
  return {&kinds::plain, &kinds::lingering_mutex, &kinds::fair, &kinds::reentrant, &kinds::writer, &kinds::reader};
}

constexpr const char* wrong = "by a thread that has not locked it, and was ignored";

}  // namespace

TEST_SUITE("guard") {
  LATCHKEY_TEST_CASES("a guard holds the lock, and releases it at the end of its scope", kind, guarded()) {
    rivals w{kind};
    {
      const auto held = w.lock->acquire();
      CHECK(held);
      CHECK(held.grant() == w.lock->held());
      CHECK(held.fence() == w.lock->held().fence());
      CHECK(w.is_held());
    }
    CHECK(w.is_free());
    CHECK_FALSE(w.lock->held());
    CHECK(eventually([&] { return queue_at(w.path).empty(); }));
  }

  LATCHKEY_TEST_CASES("what cannot be taken in time, or before stop is requested, is an empty guard", kind, guarded()) {
    rivals w{kind};
    w.rival->lock();
    CHECK_FALSE(w.lock->try_acquire());
    CHECK_FALSE(w.lock->try_acquire_for(20ms));
    std::stop_source stopped;
    stopped.request_stop();
    auto none = w.lock->acquire(stopped.get_token());
    CHECK_FALSE(none);
    CHECK(none.grant() == grant{});
    none.release();
    w.rival->unlock();
    CHECK(w.lock->try_acquire_for(patience()));
  }

  LATCHKEY_TEST_CASES("a guard may be moved to another thread, which releases the lock", kind, guarded()) {
    rivals w{kind};
    auto held = w.lock->acquire();
    elsewhere([&w, mine = std::move(held)]() mutable {
      CHECK(mine);
      CHECK(w.is_held());
      mine.release();
      CHECK_FALSE(mine);
    });
    CHECK_FALSE(held);
    CHECK(w.is_free());
  }

  LATCHKEY_TEST_CASES("whose guard has been moved may wait for the lock again", kind,
                      kinds_of_locks({&kinds::plain, &kinds::fair, &kinds::reentrant, &kinds::writer})) {
    rivals w{kind};
    auto first = w.lock->acquire();
    const auto fence = first.fence();
    std::optional<guard> moved{std::move(first)};
    CHECK_FALSE(w.lock->try_acquire_for(20ms));
    std::jthread releases{[&] { moved->release(); }};
    const auto second = w.lock->acquire();
    CHECK(second.fence() > fence);
    CHECK(second);
  }

  LATCHKEY_TEST_CASES("a fiber that would wait for its own guard is told so", kind,
                      kinds_of_locks({&kinds::plain, &kinds::fair, &kinds::writer, &kinds::reader})) {
    rivals w{kind};
    const auto held = w.lock->acquire();
    CHECK_THROWS_AS(static_cast<void>(w.lock->acquire()), std::system_error);
    CHECK_THROWS_AS(w.lock->lock(), std::system_error);
    CHECK(held);
  }

  LATCHKEY_TEST_CASES("unlock() by another thread, or twice, does nothing and is logged", kind, guarded()) {
    const log_lines log;
    rivals w{kind};
    w.lock->lock();
    elsewhere([&] { w.lock->unlock(); });
    CHECK(w.lock->held());
    CHECK(w.is_held());
    const auto said = log.with(w.path);
    REQUIRE(said.size() == 1);
    CAPTURE(said.front());
    CHECK(said.front().find(wrong) != std::string::npos);
    w.lock->unlock();
    CHECK(log.with(w.path).size() == 1);
    w.lock->unlock();
    CHECK(log.with(w.path).size() == 2);
    CHECK(w.is_free());
  }

  LATCHKEY_TEST_CASES("a loop of wrong calls of unlock() logs a line for each time that their number doubles", kind,
                      guarded()) {
    const log_lines log;
    rivals w{kind};
    for (int i = 0; i < 100; ++i) w.lock->unlock();
    const auto said = log.with(w.path);
    REQUIRE(said.size() == 7);
    CAPTURE(said.back());
    CHECK(said.back().find("ignored=64") != std::string::npos);
  }

  LATCHKEY_TEST_CASES("only its guard releases what a guard holds", kind, guarded()) {
    const log_lines log;
    rivals w{kind};
    auto held = w.lock->acquire();
    w.lock->unlock();
    CHECK(held);
    CHECK(w.is_held());
    CHECK(log.with(w.path).size() == 1);
    CHECK(log.with("was called while a guard holds the lock, and was ignored").size() == 1);
    held.release();
    CHECK(w.is_free());
  }

  TEST_CASE_TEMPLATE("that the thread that locked has ended is logged, by unlock() and by a call that waits", Lock,
                     mutex, fair_mutex, shared_mutex, reentrant_mutex) {
    const log_lines log{log_level::warning};
    const auto path = fresh_path();
    auto options = quick();
    options.report_waits_after = 200ms;
    client owner{servers().connect_string(), options};
    client other{servers().connect_string(), options};
    Lock rival{other, path};
    {
      Lock lock{owner, path};
      elsewhere([&] { lock.lock(); });
      lock.unlock();
      CHECK(log.with("the one that has is at its end").size() == 1);
      std::stop_source stop;
      std::thread waiting{[&] { CHECK_FALSE(lock.lock(stop.get_token())); }};
      CHECK(eventually([&] { return !log.with("whose owner has ended without unlock()").empty(); }));
      stop.request_stop();
      waiting.join();
      CHECK_FALSE(rival.try_lock());
      const auto mine = lock.held();
      elsewhere([&] { lock.unlock(); });
      CHECK(mine);
    }
    CHECK(rival.try_lock_for(patience()));
    rival.unlock();
  }

  TEST_CASE("unlock() gives back no level of a reentrant mutex that has a guard") {
    const log_lines log;
    two_clients<reentrant_mutex> w;
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
    two_clients<reentrant_mutex> w;
    w.lock.lock();
    auto again = w.lock.acquire();
    CHECK(w.lock.depth() == 2);
    elsewhere([mine = std::move(again)]() mutable { mine.release(); });
    CHECK(w.lock.depth() == 1);
    CHECK(w.is_held());
    w.lock.unlock();
    CHECK(w.is_free());
  }

  LATCHKEY_TEST_CASES("a guard whose grant was lost releases nothing of who holds the lock then", kind, guarded()) {
    rivals w{kind};
    auto held = w.lock->acquire();
    raw_client outside{servers().address(0)};
    const auto lost = held.stop_token();
    REQUIRE(outside.remove(w.path + "/" + queue_at(w.path).front()));
    REQUIRE(eventually([&] { return lost.stop_requested(); }));
    CHECK_FALSE(held);
    CHECK(held.grant().loss() == loss_reason::node_deleted);
    w.rival->lock();
    held.release();
    CHECK(w.rival->held());
    CHECK_FALSE(w.lock->try_acquire());
    w.rival->unlock();
    CHECK(w.lock->try_acquire_for(patience()));
  }

  TEST_CASE("a released guard does not release the next turn") {
    two_clients<mutex> w;
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

  LATCHKEY_TEST_CASES("a guard that outlives its lock holds nothing, which is logged, and may outlive its client", kind,
                      guarded()) {
    const log_lines log{log_level::warning};
    const auto path = fresh_path();
    guard held;
    {
      client owner{servers().connect_string(), quick()};
      const auto lock = kind->make(owner, path);
      held = lock->acquire();
      CHECK(held);
    }
    CHECK_FALSE(held);
    held.release();
    CHECK(log.with("a lock object was destroyed while it held the lock").size() == 1);
    CHECK(eventually([&] { return queue_at(path).empty(); }));
  }

  TEST_CASE("a lock object that is destroyed while lock() holds it says so") {
    const auto path = fresh_path();
    client owner{servers().connect_string(), quick()};
    const log_lines log{log_level::warning};
    std::make_unique<mutex>(owner, path)->lock();
    CHECK(log.with("a lock object was destroyed while it held the lock").size() == 1);
    std::make_unique<reentrant_mutex>(owner, path)->lock();
    CHECK(log.with("a lock object was destroyed while it held the lock").size() == 2);
    CHECK(eventually([&] { return queue_at(path).empty(); }));
  }

  TEST_CASE("a token may combine the loss with the caller's own shutdown") {
    two_clients<mutex> w;
    std::stop_source shutdown;
    auto held = w.lock.acquire();
    const auto by_shutdown = held.stop_token(shutdown.get_token());
    CHECK_FALSE(by_shutdown.stop_requested());
    shutdown.request_stop();
    CHECK(by_shutdown.stop_requested());
    CHECK(held);
    const std::stop_source other;
    const auto by_loss = held.stop_token(other.get_token());
    const auto again = held.stop_token(other.get_token());  // as for a second worker
    const auto early = held.stop_token(other.get_token(), 1ms);
    CHECK_FALSE(by_loss.stop_requested());
    raw_client outside{servers().address(0)};
    REQUIRE(outside.remove(w.path + "/" + queue_at(w.path).front()));
    CHECK(eventually([&] { return by_loss.stop_requested(); }));
    CHECK(again == by_loss);
    CHECK(eventually([&] { return early.stop_requested(); }));
  }

  TEST_CASE("each token of a guard tells of the loss, also when no one can stop the other one any more") {
    two_clients<mutex> w;
    auto held = w.lock.acquire();
    std::vector<std::stop_token> all;
    for (int i = 0; i < 10; ++i) {
      std::stop_source of_task;
      all.push_back(held.stop_token(of_task.get_token()));
    }
    raw_client outside{servers().address(0)};
    REQUIRE(outside.remove(w.path + "/" + queue_at(w.path).front()));
    for (const auto& each : all) CHECK(eventually([&] { return each.stop_requested(); }));
  }

  TEST_CASE("the token of a guard without a lock is stopped") {
    two_clients<mutex> w;
    const auto held = w.lock.acquire();
    guard none;
    elsewhere([&] { none = w.lock.try_acquire(); });
    CHECK_FALSE(none);
    CHECK(none.stop_token().stop_requested());
    std::stop_source other;
    CHECK(none.stop_token(other.get_token()).stop_requested());
  }

  TEST_CASE("readers of one object may each have a guard, and release it anywhere") {
    two_clients<shared_mutex> w;
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
