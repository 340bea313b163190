// SPDX-License-Identifier: Apache-2.0
/// What the checker of histories makes of robust locks.

#include <doctest/doctest.h>

#include "simulation/complaints.hpp"

namespace latchkey::testing {
namespace {

using enum robust_record_change::change;

/// Two owners, one after the other; nothing is said of the record yet.
history_log two_owners() {
  history_log log;
  for (unsigned i = 0; i < 2; ++i) {
    call_record call;
    call.client = call.object = i;
    call.entered = i + 1;
    call.what = call_record::outcome::granted;
    log.calls.push_back(call);
    grant_record grant;
    grant.call = i;
    grant.fence = {10 + static_cast<std::int64_t>(i), 0};
    grant.granted = 5 + i * 10;
    grant.last_valid = grant.granted + 2;
    grant.unlocked = grant.granted + 3;
    grant.robust = grant.in_order = true;
    log.grants.push_back(grant);
  }
  return log;
}

history_log in_order() {
  auto log = two_owners();
  log.robust = {{named, 0, {10}}, {left, 0, {10}}, {named, 0, {11}}, {left, 0, {11}}};
  return log;
}

history_log with_a_death() {
  auto log = two_owners();
  log.grants[0].in_order = false;
  log.grants[1].told_of = fencing_token{10};
  log.robust = {{named, 0, {10}}, {died, 0, {10}}, {named, 0, {11}}, {left, 0, {11}}};
  return log;
}

}  // namespace

TEST_SUITE("history checker") {
  TEST_CASE("owners who go in order are not told of, and who dies is") {
    CHECK(violations(in_order()).empty());
    CHECK(violations(with_a_death()).empty());
  }

  TEST_CASE("a death that is not told, or told though there was none, is refused, and so is another's") {
    auto log = with_a_death();
    log.grants[1].told_of.reset();
    CHECK(complains(log, "death"));
    log.grants[1].told_of = fencing_token{9};
    CHECK(complains(log, "death"));
    log = in_order();
    log.grants[1].told_of = fencing_token{10};
    CHECK(complains(log, "death"));
  }

  TEST_CASE("who has lost it and unlocks goes in no order") {
    auto log = in_order();
    log.grants[0].in_order = false;
    CHECK(complains(log, "death"));
    log.grants[1].told_of = fencing_token{10};
    CHECK(violations(log).empty());
  }

  TEST_CASE("what was told is told again until it is in order") {
    for (const bool recovered : {false, true}) {
      auto log = with_a_death();
      log.grants[1].recovered = recovered;
      auto third = log.grants[1];
      third.fence.czxid = 12;
      third.granted += 10;
      third.last_valid += 10;
      third.unlocked += 10;
      third.recovered = false;
      third.told_of = recovered ? std::nullopt : std::optional<fencing_token>{{10}};
      log.grants.push_back(third);
      log.robust.push_back({named, 0, {12}});
      CHECK(violations(log).empty());
      log.grants[2].told_of = recovered ? std::optional<fencing_token>{{10}} : std::nullopt;
      CHECK(complains(log, "death"));
    }
  }

  TEST_CASE("a record that an operator has deleted tells of nobody, and one that is overwritten of somebody") {
    auto log = with_a_death();
    log.robust.insert(log.robust.begin() + 2, {forgotten, 0, {}});
    CHECK(complains(log, "death"));
    log.grants[1].told_of.reset();
    CHECK(violations(log).empty());
    log.robust[2].what = overwritten;
    CHECK(complains(log, "death"));
    log.grants[1].told_of = fencing_token{0};
    CHECK(violations(log).empty());
  }

  TEST_CASE("a grant without a record is refused") {
    auto log = in_order();
    log.robust.resize(2);
    CHECK(complains(log, "record"));
  }

  TEST_CASE(
      "who follows on itself is an owner of its own, with a record of its own, though it goes on with the token") {
    auto log = in_order();
    log.grants[0].place = 10;
    log.grants[1].place = 11;
    log.grants[1].fence = {10, 1};
    log.robust = {{named, 0, {10}}, {left, 0, {10}}, {named, 0, {10, 1}}, {left, 0, {10, 1}}};
    CHECK(violations(log).empty());
    log.grants[0].in_order = false;
    CHECK(complains(log, "death"));
    log.grants[1].told_of = fencing_token{10};
    CHECK(violations(log).empty());
    log = in_order();
    log.grants[0].place = 10;
    log.grants[1].place = 11;
    log.grants[1].fence = {10, 1};
    log.robust.resize(2);
    CHECK(complains(log, "record"));
    log.grants[1].place = 10;  // a turn
    CHECK(violations(log).empty());
  }
}
}  // namespace latchkey::testing
