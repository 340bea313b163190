// SPDX-License-Identifier: Apache-2.0
/// Turns among local callers take no memory, nor do readers that join others, nor a place that is had again.

#include <doctest/doctest.h>

#include <cstddef>
#include <cstdlib>
#include <new>

#include "support/calm_world.hpp"

namespace {

std::size_t allocations = 0;

}  // namespace

void* operator new(std::size_t size) {
  ++allocations;
  if (void* const memory = std::malloc(size == 0 ? 1 : size)) return memory;
  throw std::bad_alloc{};
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }

namespace latchkey::testing {
namespace {

using namespace std::chrono_literals;

constexpr std::uint64_t turns = 1000;

/// @returns how often memory was asked for by the time `what` returned.
template <class Callable>
std::size_t allocations_of(Callable what) {
  const auto before = allocations;
  what();
  return allocations - before;
}

}  // namespace

TEST_SUITE("allocations") {
  TEST_CASE("a turn among local callers takes no memory, for as long as nobody outside waits") {
    calm_world w;
    simulated_lock lock{w.one, "/q", {.family = lock_family::turns, .max_hold = 1h}};
    simulated_lock::call waiting;
    std::uint64_t fiber = 1;
    const auto turn = [&] {  // one comes, the one ahead leaves, so that it has the lock
      auto next = lock.enter(++fiber, contender_kind::lock);
      lock.leave(fiber - 1, contender_kind::lock);
      waiting = std::move(next);
      if (waiting->what != outcome::granted) std::abort();
    };
    REQUIRE(w.ends(lock.enter(fiber, contender_kind::lock), outcome::granted));
    for (int i = 0; i < 10; ++i) turn();  // from half the turns on the holder asks who is outside
    w.time.run_for(1s);
    for (int i = 0; i < 100; ++i) turn();
    w.one.connector().forget_sent();
    CHECK(allocations_of([&] {
            for (std::uint64_t i = 0; i < turns; ++i) turn();
          }) == 0);
    CHECK(w.one.connector().sent() == 0);
    lock.leave(fiber, contender_kind::lock);
  }

  TEST_CASE("a place that lingers is had again, and kept again, without memory") {
    for (const auto mode : {contender_kind::lock, contender_kind::write, contender_kind::read}) {
      const auto family = mode == contender_kind::lock ? lock_family::turns : lock_family::shared;
      CAPTURE(static_cast<int>(mode));
      calm_world w;
      simulated_lock lock{w.one, "/q", {.family = family, .linger = 1h}};
      simulated_lock::call call;
      const auto again = [&] {
        call = lock.enter(1, mode);
        if (call->what != outcome::granted) std::abort();
        lock.leave(1, mode);
      };
      REQUIRE(w.ends(lock.enter(1, mode), outcome::granted));
      lock.leave(1, mode);  // it asks who is outside
      w.time.run_for(1s);
      for (int i = 0; i < 10; ++i) again();
      w.one.connector().forget_sent();
      CHECK(allocations_of([&] {
              for (std::uint64_t i = 0; i < turns; ++i) again();
            }) == 0);
      CHECK(w.one.connector().sent() == 0);
    }
  }

  TEST_CASE("a reader that joins others takes no memory") {
    calm_world w;
    simulated_lock lock{w.one, "/q", {lock_family::shared}};
    simulated_lock::call joining;
    const auto read = [&] {
      joining = lock.enter(2, contender_kind::read);
      if (joining->what != outcome::granted) std::abort();
      lock.leave(2, contender_kind::read);
    };
    REQUIRE(w.ends(lock.enter(1, contender_kind::read), outcome::granted));
    REQUIRE(w.ends(lock.enter(2, contender_kind::read), outcome::granted));  // nobody outside waits, it has asked
    lock.leave(2, contender_kind::read);
    for (int i = 0; i < 10; ++i) read();
    CHECK(allocations_of([&] {
            for (std::uint64_t i = 0; i < turns; ++i) read();
          }) == 0);
    lock.leave(1, contender_kind::read);
  }
}
}  // namespace latchkey::testing
