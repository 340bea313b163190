// SPDX-License-Identifier: Apache-2.0
/// The guards and algorithms of std, with every lock of the family: with its type, not as a value.

#include <mutex>
#include <stop_token>

#include <doctest/doctest.h>
#include <latchkey/any_lock.hpp>
#include <latchkey/election.hpp>
#include <latchkey/multi_lock.hpp>
#include <latchkey/mutex.hpp>
#include <latchkey/reentrant_mutex.hpp>
#include <latchkey/robust_mutex.hpp>

#include "support/family.hpp"
#include "support/lock_of.hpp"

namespace latchkey::testing {
namespace {

template <class Lock>
void guard_both(Lock& one, Lock& two) {
  {
    const std::scoped_lock both{one, two};
    CHECK(one.held());
    CHECK(two.held());
  }
  CHECK_FALSE(one.held());
  {
    const std::unique_lock lock{one, patience()};
    CHECK(lock.owns_lock());
    CHECK(one.held());
  }
  REQUIRE(one.lock(std::stop_token{}));
  {
    const std::lock_guard adopted{one, std::adopt_lock};
    CHECK(one.held());
  }
  CHECK_FALSE(one.held());
}

/// @returns whether both are of the type `Lock`.
template <class Lock>
bool guarded_as(any_lockable& one, any_lockable& two) {
  auto* const first = dynamic_cast<lock_of<Lock>*>(&one);
  auto* const second = dynamic_cast<lock_of<Lock>*>(&two);
  if (first == nullptr || second == nullptr) return false;
  guard_both(first->itself, second->itself);
  return true;
}

template <class... Locks>
bool guarded_as_one_of(any_lockable& one, any_lockable& two) {
  return (guarded_as<Locks>(one, two) || ...);
}

}  // namespace

TEST_SUITE("family exclusion") {
  LATCHKEY_TEST_CASES("std's guards and algorithms take it", kind, blocking_family()) {
    client owner{servers().connect_string(), quick()};
    const auto one = kind.make(owner, fresh_path());
    const auto two = kind.make(owner, fresh_path());
    group_of_actors all{kind.who};
    all.start([&] {
      CHECK(guarded_as_one_of<mutex, reentrant_mutex, robust_mutex, fair_mutex, election, shared_mutex, multi_lock,
                              any_lock, reader, ticketed, keyed>(*one, *two));
    });
    all.join();
  }
}

}  // namespace latchkey::testing
