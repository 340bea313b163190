// SPDX-License-Identifier: Apache-2.0
/// The lines of callers that a client knows.

#include <doctest/doctest.h>

#include <chrono>
#include <cstddef>
#include <memory>

#include "bridge/monitor.hpp"
#include "log_lines.hpp"
#include "session/waiting_calls.hpp"
#include "simulation/simulated_lock.hpp"

namespace latchkey::testing {
namespace {

using namespace std::chrono_literals;

/// Counts what has been allocated and not been freed.
template <class T>
struct counting_allocator {
  using value_type = T;
  int* blocks;

  explicit counting_allocator(int& count) : blocks{&count} {}
  template <class U>
  counting_allocator(const counting_allocator<U>& other) : blocks{other.blocks} {}
  T* allocate(std::size_t count) { return ++*blocks, std::allocator<T>{}.allocate(count); }
  void deallocate(T* at, std::size_t count) { --*blocks, std::allocator<T>{}.deallocate(at, count); }
  template <class U>
  bool operator==(const counting_allocator<U>& other) const {
    return blocks == other.blocks;
  }
};

struct silent_line final : detail::long_wait_source {
  bool on_round(detail::time_point) override { return false; }
};

}  // namespace

TEST_SUITE("waiting calls") {
  TEST_CASE("lock objects that have gone keep no memory, but for a few, whether long waits are reported or not") {
    for (const auto long_wait : {0s, 30s}) {
      CAPTURE(long_wait.count());
      detail::monitor own{[] { return detail::time_point{1h}; }};
      detail::waiting_calls calls{own, long_wait};
      int blocks = 0;
      for (int i = 0; i < 10'000; ++i) {
        calls.add(std::allocate_shared<silent_line>(counting_allocator<silent_line>{blocks}));
      }
      CHECK(blocks <= 64);
    }
  }

  TEST_CASE("a call that waits for silent servers, and has the lock when they answer, is not told who holds it") {
    for (const auto silent : {2s, 5s, 9s}) {
      CAPTURE(silent.count());
      const log_lines lines{log_level::info};
      simulation time{1};
      fake_ensemble ensemble{time};
      client_options options;
      options.session_timeout = 20s;
      options.report_waits_after = 1s;
      simulated_client client{ensemble, options};
      REQUIRE(client.connect());
      simulated_lock lock{client, "/q", {}};
      client.connector().latest()->open_hole(silent);
      const auto call = lock.enter(1, detail::contender_kind::lock);
      time.run_for(30s);
      CHECK(call->what == detail::waiter::outcome::granted);
      CHECK(lines.with("waiting long").empty());
    }
  }
}

}  // namespace latchkey::testing
