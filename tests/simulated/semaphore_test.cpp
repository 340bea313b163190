// SPDX-License-Identifier: Apache-2.0
#include <latchkey/semaphore.hpp>

#include <chrono>
#include <thread>

#include <doctest/doctest.h>

#include <latchkey/testing/simulated_ensemble.hpp>

#include "callers.hpp"

namespace latchkey::testing {
namespace {

/// Waits for the watch of an object.
bool knows(const semaphore& of, std::uint32_t permits) {
  const auto end = std::chrono::steady_clock::now() + 30s;
  while (of.permits() != permits) {
    if (std::chrono::steady_clock::now() > end) return false;
    std::this_thread::yield();
  }
  return true;
}

}  // namespace

TEST_CASE("an object that has only changed the number follows the changes of others") {
  simulated_ensemble ensemble;
  client one{ensemble};
  client two{ensemble};
  semaphore first{one, "/s", 2};
  first.acquire().release();
  semaphore second{two, "/s", 2};
  second.resize(3);
  CHECK(second.permits() == 3);
  CHECK(knows(first, 3));
  first.resize(5);
  CHECK(knows(second, 5));
  CHECK(second.acquire(5));
  first.resize(1);
  CHECK(knows(second, 1));
}

TEST_CASE("an object that has only changed the number belongs to its users, whatever others make of it meanwhile") {
  simulated_ensemble ensemble;
  client one{ensemble};
  client two{ensemble};
  semaphore first{one, "/s", 2};
  semaphore second{two, "/s", 2};
  second.resize(3);
  ensemble.expire_session(two);
  first.resize(4);
  CHECK(second.acquire(4));
}

}  // namespace latchkey::testing
