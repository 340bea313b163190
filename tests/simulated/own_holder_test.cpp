// SPDX-License-Identifier: Apache-2.0
/// What is said of calls that do not get a lock because of this very process.

#include <latchkey/testing/simulated_ensemble.hpp>

#include <latchkey/any_lock.hpp>
#include <latchkey/election.hpp>
#include <latchkey/fair_mutex.hpp>
#include <latchkey/multi_lock.hpp>
#include <latchkey/mutex.hpp>
#include <latchkey/reentrant_mutex.hpp>
#include <latchkey/semaphore.hpp>
#include <latchkey/shared_mutex.hpp>

#include <atomic>
#include <future>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>
#include <type_traits>
#include <utility>

#include <doctest/doctest.h>

#include "callers.hpp"
#include "log_lines.hpp"

namespace latchkey::testing {
namespace {

constexpr auto* own_wait = "a call has been waiting long for a lock that this process itself holds";
constexpr auto* own_tries = "tries keep failing for a lock that this process itself holds";
constexpr auto* any_wait = "a call has been waiting long for the lock";

client_options reporting() {
  client_options options;
  options.report_waits_after = 1s;
  return options;
}

/// @returns a lock object at /locks/a, and, if it is one of several locks, at `besides`.
template <class Lock>
Lock lock_at_a(client& owner, const std::string& besides) {
  if constexpr (std::is_same_v<Lock, multi_lock>) {
    return Lock{owner, {{besides}, {"/locks/a"}}};
  } else {
    return Lock{owner, "/locks/a"};
  }
}

/// @returns the first line with `words`, which is logged as time goes on; empty if there is none.
std::string line_with(simulated_ensemble& ensemble, const log_lines& log, const std::string& words) {
  for (int i = 0; i < 300; ++i) {
    ensemble.advance(100ms);
    if (log.wait_for(words, 10ms)) return log.with(words).front();
  }
  return {};
}

/// @returns the first line with `words` that is logged while a call waits for `lock`; empty if there is none.
template <class Lock>
std::string line_of_wait(simulated_ensemble& ensemble, Lock& lock, const std::string& words, log_level level) {
  const log_lines log{level};
  std::stop_source stop;
  auto waiting = on_threads::start([&] {
    const auto held = lock.acquire(stop.get_token());
    return static_cast<bool>(held);
  });
  auto line = line_with(ensemble, log, words);
  stop.request_stop();
  CHECK_FALSE(waiting.get());
  return line;
}

}  // namespace

TEST_CASE_TEMPLATE("std::lock of two lock objects of one path never ends, and says so", Lock, mutex, fair_mutex,
                   shared_mutex, reentrant_mutex, multi_lock) {
  simulated_ensemble ensemble;
  client one{ensemble, reporting()};
  client two{ensemble, reporting()};
  bool same = false;
  SUBCASE("of one client") { same = true; }
  SUBCASE("of two clients") {}
  auto first = lock_at_a<Lock>(one, "/locks/b");
  auto second = lock_at_a<Lock>(same ? one : two, "/locks/c");
  const log_lines log{log_level::warning};
  auto locking = on_threads::start([&] {
    try {
      const std::scoped_lock both{first, second};
    } catch (const error& closed) {
      return closed.code() == errc::closed;
    }
    return false;
  });
  const auto line = line_with(ensemble, log, own_tries);
  CHECK(line.find("path=/locks/a") != std::string::npos);
  CHECK(line.find("failing_ms=") != std::string::npos);
  CHECK(line.find("waiting_calls") == std::string::npos);
  one.close();
  two.close();
  const bool refused = locking.get();
  if (same) CHECK(refused);  // the lock of the client that closes first may be lost while the other one is tried
}

TEST_CASE("calls whose time is over, one after another, beside a lock object of the same path are told") {
  simulated_ensemble ensemble;
  client owner{ensemble, reporting()};
  mutex holder{owner, "/locks/a"};
  const auto held = holder.acquire();
  mutex lock{owner, "/locks/a"};
  const log_lines log{log_level::warning};
  std::atomic<bool> enough{false};
  auto trying = on_threads::start([&] {
    while (!enough) CHECK_FALSE(lock.try_lock_for(200ms));
  });
  CHECK_FALSE(line_with(ensemble, log, own_tries).empty());
  enough = true;
  while (trying.wait_for(0s) != std::future_status::ready) ensemble.advance(100ms);
}

TEST_CASE("tries now and then are not told, whoever holds the lock") {
  simulated_ensemble ensemble;
  client owner{ensemble, reporting()};
  mutex holder{owner, "/locks/a"};
  mutex lock{owner, "/locks/a"};
  const auto held = holder.acquire();
  const log_lines log{log_level::warning};
  for (int i = 0; i < 10; ++i) {
    CHECK_FALSE(lock.try_lock());
    CHECK_FALSE(holder.try_lock());
    ensemble.advance(600ms);
  }
  CHECK(log.all().empty());
}

TEST_CASE("tries of a lock object that fail one after another, but for one, begin anew") {
  simulated_ensemble ensemble;
  client owner{ensemble, reporting()};
  mutex lock{owner, "/locks/a"};
  const log_lines log{log_level::warning};
  for (int i = 0; i < 20; ++i) {
    if (i % 4 == 0) {
      CHECK(lock.try_lock());
      lock.unlock();
    } else {
      const auto held = lock.acquire();
      CHECK_FALSE(lock.try_lock());
    }
    ensemble.advance(300ms);
  }
  CHECK(log.all().empty());
}

TEST_CASE("an election that waits for a candidate of this process says so, whichever client it is of") {
  simulated_ensemble ensemble;
  client one{ensemble, reporting()};
  client two{ensemble, reporting()};
  election leading{one, "/e", {.id = "a"}};
  const auto term = leading.acquire();
  std::optional<election> waiting;
  SUBCASE("of the same") { waiting.emplace(one, "/e"); }
  SUBCASE("of another one") { waiting.emplace(two, "/e"); }
  CHECK(line_of_wait(ensemble, *waiting, own_wait, log_level::warning).find("holder_data=a") != std::string::npos);
}

TEST_CASE("a wait for a ticket of the same lock object whose turn has come says so") {
  simulated_ensemble ensemble;
  client owner{ensemble, reporting()};
  fair_mutex lock{owner, "/locks/a"};
  auto place = lock.enqueue();
  const auto line = line_of_wait(ensemble, lock, "a call has been waiting long", log_level::info);
  CHECK(line.find("for a lock whose turn a place in line of the same lock object has") != std::string::npos);
  CHECK(place.acquire());
}

TEST_CASE("a place in line is to be had in no time, too") {
  simulated_ensemble ensemble;
  client owner{ensemble};
  fair_mutex lock{owner, "/locks/a"};
  const auto held = lock.acquire();
  for (const auto timeout : {0s, -1s}) CHECK(lock.try_enqueue_for(timeout));
}

TEST_CASE("a wait of a writer for a reader that has ended without unlock_shared says so") {
  simulated_ensemble ensemble;
  client owner{ensemble, reporting()};
  shared_mutex lock{owner, "/locks/a"};
  std::thread{[&] { lock.lock_shared(); }}.join();
  const auto line = line_of_wait(ensemble, lock, "a call has been waiting long", log_level::info);
  CHECK(line.find("for a lock whose owner has ended without unlock") != std::string::npos);
}

TEST_CASE("a node that a session of this process has left is not held by this process") {
  simulated_ensemble ensemble;
  client owner{ensemble, reporting()};
  auto options = reporting();
  options.close_timeout = 0ms;
  options.session_timeout = 40s;
  std::optional<client> gone{std::in_place, ensemble, options};
  mutex holder{*gone, "/locks/a"};
  auto held = holder.acquire();
  ensemble.cut(*gone);
  gone.reset();
  CHECK(ensemble.children("/locks/a").size() == 1);
  mutex lock{owner, "/locks/a"};
  const auto line = line_of_wait(ensemble, lock, "a call has been waiting long", log_level::info);
  CHECK(line.find(any_wait) == 0);
  CHECK(line.find("holder_pid=") != std::string::npos);
}

TEST_CASE("a wait for permits is a warning if this client has all of them") {
  simulated_ensemble ensemble;
  client owner{ensemble, reporting()};
  client other{ensemble};
  semaphore permits{owner, "/locks/s", 3};
  semaphore same{owner, "/locks/s", 3};
  semaphore of_other{other, "/locks/s", 3};
  const auto two = permits.acquire(2);
  bool all = false;
  SUBCASE("all") { all = true; }
  SUBCASE("all but one") {}
  const auto third = (all ? same : of_other).acquire();
  const auto line = line_of_wait(ensemble, same, "a call has been waiting long", log_level::info);
  CHECK(line.find(std::string{all ? own_wait : any_wait}) == 0);
  CHECK(line.find(" path=/locks/s waited_ms=") != std::string::npos);
}

TEST_CASE("tries for permits that this client has are told") {
  simulated_ensemble ensemble;
  client owner{ensemble, reporting()};
  semaphore permits{owner, "/locks/s", 2};
  semaphore same{owner, "/locks/s", 2};
  const auto held = permits.acquire(2);
  const log_lines log{log_level::warning};
  for (int i = 0; i < 30; ++i) {
    CHECK_FALSE(same.try_acquire());
    ensemble.advance(100ms);
  }
  const auto lines = log.with(own_tries);
  REQUIRE_FALSE(lines.empty());
  CHECK(lines.front().find(" path=/locks/s failing_ms=") != std::string::npos);
}

TEST_CASE("a call that others keep from the lock, too, is no warning, and names the path of the semaphore") {
  simulated_ensemble ensemble;
  client owner{ensemble, reporting()};
  SUBCASE("a semaphore of one") {
    semaphore permits{owner, "/locks/s", 1};
    semaphore others{owner, "/locks/s", 1};
    const auto held = permits.acquire();
    const auto line = line_of_wait(ensemble, others, "a call has been waiting long", log_level::info);
    CHECK(line.find(own_wait) == 0);
    CHECK(line.find(" path=/locks/s ") != std::string::npos);
  }
  SUBCASE("any of several locks") {
    mutex first{owner, "/locks/a"};
    mutex second{owner, "/locks/b"};
    const auto one = first.acquire();
    const auto two = second.acquire();
    any_lock either{owner, {"/locks/a", "/locks/b"}};
    CHECK(line_of_wait(ensemble, either, "a call has been waiting long", log_level::info).find(any_wait) == 0);
  }
}

}  // namespace latchkey::testing
