// SPDX-License-Identifier: Apache-2.0
/// What the checker says of grants that may be held for a limited time.

#include <doctest/doctest.h>

#include "simulation/history_checker.hpp"

namespace latchkey::testing {
namespace {

using namespace std::chrono_literals;

constexpr detail::time_point granted_at_first{1000s};

/// @returns whether the only complaint is about a grant that may last so long, and was ended then.
bool complains_of_hold(detail::duration max_hold, std::optional<detail::duration> ended_after, bool outstayed = false) {
  history_log log;
  log.calls.resize(1);
  log.calls[0].what = call_record::outcome::granted;
  auto& grant = log.grants.emplace_back();
  grant.fence = {10, 0};
  grant.granted_at = grant.held_from = grant.last_valid_at = granted_at_first;
  grant.max_hold = max_hold;
  if (ended_after) grant.ended_at = granted_at_first + *ended_after;
  grant.outstayed = outstayed;
  const auto found = violations(log);
  REQUIRE(found.size() <= 1);
  return !found.empty() && found[0].starts_with("hold:");
}

}  // namespace

TEST_SUITE("history checker") {
  TEST_CASE("a grant that lasts longer than it may is refused, and one that is ended before that") {
    CHECK_FALSE(complains_of_hold(0s, {}));
    CHECK_FALSE(complains_of_hold(5s, {}));
    CHECK_FALSE(complains_of_hold(5s, 5s));
    CHECK(complains_of_hold(5s, 5s - 1ns));
    CHECK(complains_of_hold(0s, 5s));
    CHECK(complains_of_hold(5s, 5s, true));
  }
}
}  // namespace latchkey::testing
