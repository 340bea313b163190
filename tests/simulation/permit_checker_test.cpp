// SPDX-License-Identifier: Apache-2.0
/// What the checker says of permits.

#include <doctest/doctest.h>

#include "simulation/complaints.hpp"

namespace latchkey::testing {
namespace {

using namespace std::chrono_literals;

constexpr detail::time_point first_permit{1000s};

/// Three clients, each with one of three permits, at the same time.
history_log three_holders() {
  history_log log;
  for (unsigned i = 0; i < 3; ++i) {
    auto& call = log.calls.emplace_back();
    call.client = call.object = i;
    call.kind = detail::contender_kind::permit;
    call.entered = i + 1;
    call.entered_at = call.finished_at = first_permit;
    call.what = call_record::outcome::granted;
    auto& grant = log.grants.emplace_back();
    grant.client = i;
    grant.call = i;
    grant.kind = call.kind;
    grant.fence = {10 + i, 0};
    grant.granted = 10 + i;
    grant.last_valid = 20;
    grant.unlocked = 21;
    grant.granted_at = grant.last_valid_at = first_permit;
    grant.of = 3;
  }
  return log;
}

}  // namespace

TEST_SUITE("history checker") {
  TEST_CASE("as many holders as there are permits are accepted, one more is refused") {
    auto log = three_holders();
    CHECK(violations(log).empty());
    for (auto& each : log.grants) each.of = 2;
    CHECK(complains(log, "permits:"));
    log.grants[0].last_valid = 11;
    CHECK(violations(log).empty());
  }

  TEST_CASE("several permits of one holder count as such") {
    auto log = three_holders();
    log.grants[1].permits = 2;
    CHECK(complains(log, "permits:"));
    log.grants[0].last_valid = 11;
    CHECK(violations(log).empty());
  }

  TEST_CASE("what an operator has deleted is not counted meanwhile") {
    auto log = three_holders();
    for (auto& each : log.grants) each.of = 2;
    log.grants[0].excused = {{first_permit, first_permit}};
    CHECK(violations(log).empty());
  }

  TEST_CASE("callers of one object that have lost permits and not given them back are counted") {
    auto log = three_holders();
    for (auto& each : log.grants) {
      each.of = 2;
      each.last_valid = each.granted;
    }
    CHECK(violations(log).empty());
    for (auto& each : log.calls) each.object = 0;
    CHECK(complains(log, "permits:"));
  }
}

}  // namespace latchkey::testing
