// SPDX-License-Identifier: Apache-2.0
#include "simulation/complaints.hpp"

#include <utility>

#include <doctest/doctest.h>

namespace latchkey::testing {
namespace {

using namespace std::chrono_literals;

constexpr detail::time_point start{1000s};

call_record a_call(unsigned object, std::uint64_t entered) {
  call_record call;
  call.client = call.object = object;
  call.entered = entered;
  call.entered_at = call.finished_at = start;
  call.what = call_record::outcome::granted;
  return call;
}

grant_record a_grant(std::size_t call, std::int64_t czxid, std::uint64_t granted, std::uint64_t last_valid) {
  grant_record grant;
  grant.call = call;
  grant.fence = {czxid, 0};
  grant.granted = granted;
  grant.last_valid = last_valid;
  grant.unlocked = last_valid + 1;
  grant.granted_at = grant.last_valid_at = start;
  return grant;
}

/// Of three clients: a writer, two readers together, a writer.
history_log readers_and_writers() {
  history_log log;
  using enum detail::contender_kind;
  log.calls = {a_call(0, 1), a_call(1, 2), a_call(2, 3), a_call(0, 4)};
  log.grants = {a_grant(0, 10, 5, 8), a_grant(1, 11, 9, 12), a_grant(2, 12, 10, 14), a_grant(3, 13, 16, 20)};
  log.grants[0].kind = log.grants[3].kind = write;
  log.grants[1].kind = log.grants[2].kind = read;
  return log;
}

/// Two clients, one after the other.
history_log a_good_history() {
  history_log log;
  log.calls = {a_call(0, 1), a_call(1, 2)};
  log.grants = {a_grant(0, 10, 5, 8), a_grant(1, 11, 9, 12)};
  return log;
}

}  // namespace

TEST_SUITE("history checker") {
  TEST_CASE("a good history is accepted") { CHECK(violations(a_good_history()).empty()); }

  TEST_CASE("two owners at the same instant are refused") {
    auto log = a_good_history();
    log.grants[0].last_valid = 9;
    CHECK(complains(log, "exclusion"));
  }

  TEST_CASE("an owner that comes back to life under a later one is refused") {
    auto log = a_good_history();
    log.calls.push_back(a_call(2, 3));
    log.grants.push_back(a_grant(2, 12, 20, 21));
    log.grants[0].last_valid = 20;
    CHECK(violations(log).size() == 2);
  }

  TEST_CASE("two locks do not exclude each other") {
    auto log = a_good_history();
    log.grants[0].last_valid = 9;
    log.grants[1].lock = 1;
    CHECK(violations(log).empty());
  }

  TEST_CASE(
      "an owner whose node an operator has deleted may not know it yet, but no longer than it takes to hear of it") {
    for (const std::size_t excused : {0u, 1u}) {
      auto log = a_good_history();
      log.grants[0].last_valid = 9;
      log.grants[0].last_valid_at = log.grants[1].granted_at = start + 2s;
      log.grants[1].last_valid_at = start + 3s;
      CHECK(complains(log, "exclusion"));
      log.grants[excused].excused = {{start + 1s, start + 2s}};
      CHECK(violations(log).empty());
      log.grants[excused].excused = {{start + 1s, start + 1900ms}};
      CHECK(complains(log, "exclusion"));
      log.grants[excused].excused = {{start + 2100ms, start + 3s}};
      CHECK(complains(log, "exclusion"));
    }
  }

  TEST_CASE("a grant on a node that was deleted long ago, or ahead of older ones, is refused") {
    for (const bool overtakes : {true, false}) {
      auto log = a_good_history();
      (overtakes ? log.grants[1].overtaken : log.grants[1].turns) = 1;
      log.grants[1].node_missing = !overtakes;
      CHECK(complains(log, overtakes ? "order" : "node"));
      log.grants[1].excused = {{start - 1s, start}};
      CHECK(violations(log).empty());
      log.grants[1].excused = {{start - 2s, start - 1s}};
      CHECK(complains(log, overtakes ? "order" : "node"));
    }
  }

  TEST_CASE("a token that does not grow is refused") {
    auto log = a_good_history();
    log.grants[1].fence = log.grants[0].fence;
    CHECK(complains(log, "tokens"));
    log.grants[1].fence.turn = 1;
    CHECK(violations(log).empty());
    log.grants[1].fence = {9, 5};
    CHECK(complains(log, "tokens"));
  }

  TEST_CASE("overtaking is refused, in the queue and among the callers of one object") {
    auto log = a_good_history();
    log.grants[1].overtaken = 1;
    CHECK(complains(log, "order"));
    log = a_good_history();
    log.calls[1].object = 0;
    log.calls[1].entered = 0;
    CHECK(complains(log, "turns"));
  }

  TEST_CASE("readers may be together, and in any order of their tokens") {
    auto log = readers_and_writers();
    CHECK(violations(log).empty());
    std::swap(log.grants[1].fence, log.grants[2].fence);
    CHECK(violations(log).empty());
  }

  TEST_CASE("a writer together with a reader is refused, whoever was first") {
    auto log = readers_and_writers();
    log.grants[0].last_valid = 9;
    CHECK(complains(log, "exclusion"));
    log = readers_and_writers();
    log.grants[1].last_valid = 16;
    CHECK(complains(log, "exclusion"));
  }

  TEST_CASE("a reader's token that is not between those of the writers is refused") {
    auto log = readers_and_writers();
    log.grants[1].fence = {9, 0};
    CHECK(complains(log, "tokens"));
    log = readers_and_writers();
    log.grants[1].fence = {14, 0};
    CHECK(complains(log, "tokens"));
  }

  TEST_CASE("a token that is given twice is refused, also to readers") {
    auto log = readers_and_writers();
    log.grants[2].fence = log.grants[1].fence;
    CHECK(complains(log, "unique"));
  }

  TEST_CASE("callers of one object do not overlap before they have unlocked, though the lock was lost") {
    auto log = a_good_history();
    log.calls[1].object = 0;
    log.grants[0].unlocked = 9;  // at the instant at which the next one is granted
    CHECK(violations(log).empty());
    log.grants[0].unlocked = 10;
    CHECK(complains(log, "overlap"));
    log.calls[1].object = 1;
    CHECK(violations(log).empty());
  }

  TEST_CASE("a reader that has lost the lock keeps writers of its object out, not readers") {
    auto log = readers_and_writers();
    for (auto& each : log.calls) each.object = 0;
    CHECK(violations(log).empty());
    log.grants[1].unlocked = 17;
    CHECK(complains(log, "overlap"));
  }

  TEST_CASE("a writer between another one and the reader that this one becomes is refused") {
    auto log = readers_and_writers();
    log.grants[1].downgraded_from = 0;
    CHECK(violations(log).empty());
    log.calls.push_back(a_call(3, 2));
    log.grants.push_back(a_grant(4, 10, 9, 9));
    log.grants.back().fence.turn = 1;
    log.grants.back().kind = detail::contender_kind::write;
    log.grants[1].granted = log.grants[2].granted = 10;
    CHECK(complains(log, "downgrade"));
    log.grants[1].downgraded_from = {};
    CHECK(violations(log).empty());
  }

  TEST_CASE("a place is passed on so many times, and not more, while somebody is kept waiting") {
    auto log = a_good_history();
    log.grants[1].fence = {10, 1};
    log.grants[1].kept_waiting = {11};
    CHECK(violations(log).empty());
    log.calls.push_back(a_call(2, 3));
    log.grants.push_back(a_grant(2, 10, 13, 14));
    log.grants[2].fence.turn = 2;
    log.grants[2].kept_waiting = {12};  // somebody else
    CHECK(violations(log).empty());
    log.grants[2].kept_waiting = {11, 12};
    CHECK(complains(log, "starvation"));
    log.grants[2].turns = 2;
    CHECK(violations(log).empty());
  }

  TEST_CASE("a reader that joins others while a writer has been kept waiting for too long is refused") {
    auto log = readers_and_writers();
    log.grants[2].kept_waiting = {13};
    CHECK(complains(log, "starvation"));
  }

  TEST_CASE("a place that was asked for is not passed on once its holder has unlocked it") {
    auto log = a_good_history();
    log.grants[0].asked_to_release = true;
    CHECK(violations(log).empty());
    log.grants[1].fence = {10, 1};
    CHECK(complains(log, "revocation"));
    log.grants[1].downgraded_from = 0;
    log.grants[1].kind = detail::contender_kind::read;
    CHECK(violations(log).empty());
  }

  TEST_CASE("the order in which calls were made counts for those of one kind that wait in one line") {
    auto log = a_good_history();
    log.calls[1].object = 0;
    log.calls[1].entered = 0;
    log.calls[1].in_turn = false;
    CHECK(violations(log).empty());
    log.calls[1].in_turn = true;
    log.calls[1].kind = detail::contender_kind::read;
    CHECK(violations(log).empty());
    log.calls[1].kind = log.calls[0].kind;
    log.grants[1].granted = log.grants[0].granted;  // let in together
    log.grants[0].kind = log.grants[1].kind = detail::contender_kind::read;
    CHECK(violations(log).empty());
  }

  TEST_CASE("a grant without its node is refused") {
    auto log = a_good_history();
    log.grants[1].node_missing = true;
    CHECK(complains(log, "node"));
  }

  TEST_CASE("a grant that is valid for longer than its node is there is refused, even when nobody else came") {
    auto log = a_good_history();
    log.grants[1].outlived_node = true;
    CHECK(complains(log, "validity"));
    log.grants[1].excused = {{start, start}};
    CHECK(violations(log).empty());
  }

  TEST_CASE("a grant that does not see what was written before it is refused, if it promised that") {
    auto log = a_good_history();
    log.grants[1].sees_old_data = true;
    CHECK(complains(log, "reads"));
  }

  TEST_CASE("a call that never returns is refused") {
    auto log = a_good_history();
    log.calls.push_back(a_call(2, 3));
    log.calls[2].what = call_record::outcome::waiting;
    CHECK(complains(log, "wake-up"));
  }

  TEST_CASE("a call that returns after its deadline is refused, and one that gives up before it") {
    auto log = a_good_history();
    log.calls[1].deadline = start + 1s;
    log.calls[1].finished_at = start + 1s + 1ns;
    CHECK(complains(log, "deadline"));
    log.calls[1].what = call_record::outcome::refused;
    log.grants.pop_back();
    log.calls[1].finished_at = start + 1s;
    CHECK(violations(log).empty());
    log.calls[1].finished_at = start;
    CHECK(complains(log, "patience"));
    log.calls[1].cancelled = true;
    CHECK(violations(log).empty());
  }

  TEST_CASE("a call that fails and what is left behind are refused") {
    auto log = a_good_history();
    log.calls[1].what = call_record::outcome::failed;
    log.grants.pop_back();
    CHECK(complains(log, "failure"));
    log.calls[1].may_fail = true;
    CHECK(violations(log).empty());
    log = a_good_history();
    log.leftovers = {"a node"};
    CHECK(complains(log, "left behind"));
  }
}
}  // namespace latchkey::testing
