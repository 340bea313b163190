// SPDX-License-Identifier: Apache-2.0
/// Lock objects that are destroyed while threads wait for them, as static ones are when the process ends.

#include <latchkey/any_lock.hpp>
#include <latchkey/election.hpp>
#include <latchkey/fair_mutex.hpp>
#include <latchkey/keyed_mutex.hpp>
#include <latchkey/multi_lock.hpp>
#include <latchkey/mutex.hpp>
#include <latchkey/reentrant_mutex.hpp>
#include <latchkey/robust_mutex.hpp>
#include <latchkey/semaphore.hpp>
#include <latchkey/shared_mutex.hpp>

#include <atomic>
#include <chrono>
#include <exception>
#include <functional>
#include <memory>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

#include <doctest/doctest.h>

#include <latchkey/testing/simulated_ensemble.hpp>

#include "callers.hpp"
#include "error_of.hpp"

namespace latchkey::testing {
namespace {

const std::string long_path = "/locks/nightly-billing-of-all-customers";  // longer than what a string keeps within

/// @returns what a call that waits is told: "taken", "empty", or the error.
template <class Call>
std::string told_by(Call call) {
  try {
    auto held = call();
    return held.grant() == grant{} ? "empty" : "taken";
  } catch (const error& why) {
    return why.code() == errc::lock_destroyed ? "destroyed" : why.what();
  } catch (const std::exception& why) {
    return why.what();
  }
}

/// A lock is released, and destroyed, while a thread waits for it.
template <class Lock, class Make, class Take, class Wait>
void destroy_while_one_waits(const char* name, Make make, Take take, Wait wait) {
  CAPTURE(name);
  simulated_ensemble ensemble;
  client owner{ensemble};
  for (int round = 0; round < 60; ++round) {
    std::unique_ptr<Lock> lock = make(owner);
    auto held = take(*lock);
    std::string told;
    std::thread waiting{[&] { told = told_by([&] { return wait(*lock); }); }};
    while (owner.metrics().locks[0].waiting == 0) std::this_thread::yield();
    held.release();
    for (int i = 0; i < round * 50; ++i) std::atomic_signal_fence(std::memory_order_seq_cst);
    lock = nullptr;
    waiting.join();
    CHECK_MESSAGE((told == "taken" || told == "destroyed"), told);
  }
}

constexpr auto acquire = [](auto& lock) { return lock.acquire(); };
constexpr auto acquire_for_long = [](auto& lock) { return lock.try_acquire_for(1h); };

template <class Lock, class Wait>
void destroy_at_the_path(const char* name, Wait wait) {
  destroy_while_one_waits<Lock>(
      name, [](client& owner) { return std::make_unique<Lock>(owner, long_path); }, acquire, wait);
}

}  // namespace

TEST_CASE("a lock object that is destroyed while a thread waits for it says so to that thread") {
  destroy_at_the_path<mutex>("mutex", acquire);
  destroy_at_the_path<mutex>("mutex, for a time", acquire_for_long);
  destroy_at_the_path<fair_mutex>("fair mutex", acquire);
  destroy_at_the_path<fair_mutex>("ticket", [](auto& lock) { return lock.enqueue().acquire(); });
  destroy_at_the_path<reentrant_mutex>("reentrant mutex", acquire);
  destroy_at_the_path<robust_mutex>("robust mutex", acquire);
  destroy_at_the_path<election>("candidate", acquire);
  destroy_at_the_path<shared_mutex>("writer", acquire);
  destroy_at_the_path<shared_mutex>("reader", [](auto& lock) { return lock.acquire_shared(); });
  destroy_while_one_waits<semaphore>(
      "semaphore", [](client& owner) { return std::make_unique<semaphore>(owner, long_path, 1); }, acquire, acquire);
  destroy_while_one_waits<multi_lock>(
      "several",
      [](client& owner) {
        return std::make_unique<multi_lock>(owner, std::vector<std::string>{long_path, long_path + "-too"});
      },
      acquire, acquire);
  destroy_while_one_waits<any_lock>(
      "any", [](client& owner) { return std::make_unique<any_lock>(owner, std::vector<std::string>{long_path}); },
      acquire, acquire);
  const auto make_keys = [](client& owner) { return std::make_unique<keyed_mutex>(owner, long_path); };
  const auto key = [](auto& keys) { return keys.lock("a"); };
  const auto both = [](auto& keys) { return keys.lock_all({"a", "b"}); };
  destroy_while_one_waits<keyed_mutex>("key", make_keys, key, key);
  destroy_while_one_waits<keyed_mutex>("keys", make_keys, key, both);
}

TEST_CASE("a second call with a ticket is refused while one waits, which goes on") {
  simulated_ensemble ensemble;
  client owner{ensemble};
  fair_mutex lock{owner, long_path};
  auto held = lock.acquire();
  auto place = lock.enqueue();
  auto first = on_threads::start([&] { return place.acquire(); });
  while (owner.metrics().locks[0].waiting == 0) std::this_thread::yield();
  CHECK_THROWS_AS(static_cast<void>(place.wait_for(1h)), std::system_error);
  CHECK_THROWS_AS(place.requeue(), std::system_error);
  held.release();
  CHECK(first.get());
}

}  // namespace latchkey::testing
