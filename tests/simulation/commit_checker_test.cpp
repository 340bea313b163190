// SPDX-License-Identifier: Apache-2.0
/// What the checker says of transactions under grants.

#include <doctest/doctest.h>

#include "simulation/complaints.hpp"

namespace latchkey::testing {
namespace {

using namespace std::chrono_literals;
using outcome = commit_result::outcome;

constexpr detail::time_point first_grant{1h};

/// Two clients have the lock one after the other, and write once each.
history_log two_writers() {
  history_log log;
  for (unsigned client = 0; client < 2; ++client) {
    call_record call;
    call.client = call.object = client;
    call.entered = 1 + client;
    call.entered_at = call.finished_at = first_grant;
    call.what = call_record::outcome::granted;
    log.calls.push_back(call);
    grant_record grant;
    grant.client = client;
    grant.call = client;
    grant.fence = {10 + client, 0};
    grant.granted = 10 + 10 * client;
    grant.last_valid = grant.granted + 5;
    grant.unlocked = grant.granted + 6;
    grant.granted_at = grant.last_valid_at = first_grant + client * 1s;
    log.grants.push_back(grant);
    log.commits.push_back({.grant = client, .fence = grant.fence, .what = outcome::committed});
    log.writes.push_back({client, grant.granted_at + 10ms});
  }
  return log;
}

}  // namespace

TEST_SUITE("checker of commits") {
  TEST_CASE("a good history has no complaint") { CHECK(violations(two_writers()).empty()); }

  TEST_CASE("a write after the next client has been granted the lock") {
    auto log = two_writers();
    log.writes[0].time = first_grant + 1s + 5ms;
    CHECK(complains(log, "commits"));
    log.grants[1].client = log.calls[1].client = 0;  // who waits in the same client may be let in before
    CHECK(violations(log).empty());
  }

  TEST_CASE("a write behind that of a later grant") {
    auto log = two_writers();
    std::swap(log.writes[0], log.writes[1]);
    std::swap(log.writes[0].time, log.writes[1].time);
    log.grants[1].client = log.calls[1].client = 0;
    CHECK(complains(log, "commits"));
  }

  TEST_CASE("an outcome that is not what the ensemble has") {
    for (const auto what : {outcome::lock_lost, outcome::refused}) {
      auto log = two_writers();
      log.commits[1].what = what;
      CHECK(complains(log, "commits"));
      log.writes.pop_back();
      CHECK(violations(log).empty());
    }
    auto log = two_writers();
    log.writes.pop_back();
    CHECK(complains(log, "commits"));
    log.commits[1].what = outcome::in_doubt;
    CHECK(violations(log).empty());
    log.commits[1].what.reset();
    CHECK(complains(log, "commits"));
    log.commits[1].failed = true;
    CHECK(violations(log).empty());
  }

  TEST_CASE("a write that is there twice") {
    auto log = two_writers();
    log.writes.push_back(log.writes.back());
    CHECK(complains(log, "commits"));
  }
}

}  // namespace latchkey::testing
