// SPDX-License-Identifier: Apache-2.0
#pragma once

/// A client that holds a lock, and what it writes along with the check of its grant.

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "queue/fenced_commit.hpp"
#include "support/calm_world.hpp"

namespace latchkey::testing {

constexpr contender_kind exclusive_kind_of(lock_family family) {
  return family == lock_family::shared ? contender_kind::write : contender_kind::lock;
}

/// A client that holds a lock, and data beside it.
struct holding : calm_world {
  const contender_kind mode;
  simulated_lock lock;
  simulated_lock other;
  grant held;

  explicit holding(lock_family family = lock_family::turns, std::uint64_t seed = 1)
      : calm_world{seed}, mode{exclusive_kind_of(family)}, lock{one, "/q", {family}}, other{two, "/q", {family}} {
    ensemble.create("/data", "old");
    take();
    time.run_for(std::chrono::seconds{1});
    one.connector().forget_sent();
  }

  void take() {
    REQUIRE(ends(lock.enter(1, mode), outcome::granted));
    held = lock.current(1, mode);
  }

  std::shared_ptr<detail::fenced_commit> begin(detail::fenced_steps what, duration timeout = std::chrono::minutes{1}) {
    return one.run([&] {
      const auto begun = std::make_shared<detail::fenced_commit>(detail::grant_state::of(held), std::move(what));
      begun->start(time.now() + timeout);
      return begun;
    });
  }
  /// @returns how it ended; nothing if it did not, or failed.
  std::optional<commit_result> end(const std::shared_ptr<detail::fenced_commit>& begun) {
    eventually([&] { return begun->result() || begun->failed(); });
    return begun->result();
  }
  std::optional<commit_result> commit(std::vector<detail::step> steps, bool releases = false) {
    return end(begin({.steps = std::move(steps), .releases = releases}));
  }
  bool written() const { return ensemble.data("/data") == "new"; }
  std::size_t queued_now() const { return ensemble.children("/q").size(); }
  bool nothing_is_left() {
    return eventually([&] { return ensemble.children("/q").empty() && one.unfinished().empty(); });
  }
};

inline detail::step set(std::int32_t version = -1, std::string path = "/data") {
  return {.what = detail::step::operation::set, .path = std::move(path), .data = "new", .version = version};
}
inline detail::step create(std::string path) {
  return {.what = detail::step::operation::create, .path = std::move(path)};
}

}  // namespace latchkey::testing
