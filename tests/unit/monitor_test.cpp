// SPDX-License-Identifier: Apache-2.0
/// The monitor of a client: its time.

#include "bridge/monitor.hpp"

#include <chrono>
#include <thread>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

namespace latchkey::testing {
namespace {

using namespace std::chrono_literals;
using detail::time_point;

/// Its clock goes on by a millisecond at each read.
struct moving_clock {
  time_point time{1h};
  detail::monitor monitor{[this] { return time += 1ms; }};
};

}  // namespace

TEST_SUITE("monitor") {
  TEST_CASE("time stands still within a call, and goes on between calls") {
    moving_clock w;
    const auto [first, second] = w.monitor.run([&] { return std::pair{w.monitor.now(), w.monitor.now()}; });
    CHECK(first == second);
    CHECK(w.monitor.run([&] { return w.monitor.now(); }) == first + 1ms);
    CHECK(w.monitor.now() == first + 2ms);
    CHECK(w.monitor.now() == first + 3ms);
  }

  TEST_CASE("a call that fails ends its time, too") {
    moving_clock w;
    CHECK_THROWS(w.monitor.run([&] {
      w.monitor.now();
      throw 1;
    }));
    const auto before = w.monitor.now();
    CHECK(w.monitor.now() == before + 1ms);
  }

  TEST_CASE("a timer begins at the time at which it was found due") {
    moving_clock w;
    std::vector<time_point> seen;
    w.monitor.run([&] { w.monitor.in(1ms, [&] { seen.assign({w.monitor.now(), w.monitor.now()}); }); });
    w.monitor.run_due();
    REQUIRE(seen.size() == 2);
    CHECK(seen[0] == seen[1]);
  }

  TEST_CASE("another thread reads the clock, not the time of the call") {
    moving_clock w;
    time_point inside{};
    time_point beside{};
    w.monitor.run([&] {
      inside = w.monitor.now();
      std::thread{[&] { beside = w.monitor.now(); }}.join();
    });
    CHECK(beside == inside + 1ms);
  }
}

}  // namespace latchkey::testing
