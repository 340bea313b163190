// SPDX-License-Identifier: Apache-2.0
/// The record of a robust mutex, by whomever it was written.

#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "recipes/robust/robust_record.hpp"
#include "support/robust_world.hpp"

namespace latchkey::testing {

using namespace std::chrono_literals;

TEST_SUITE("robust mutex") {
  TEST_CASE("a record that is garbled, foreign, cut short or too long is told as a death of somebody") {
    const auto whole = [] {
      detail::robust_record some{.node = "x", .owner = {.label = "a", .host = "b"}};
      some.before = dead_owner{.label = "c"};
      return some.text();
    }();
    std::vector<std::string> all{"",
                                 "{}",
                                 "[]",
                                 "17",
                                 "\"held\"",
                                 "{\"owner\":3}",
                                 std::string(100'000, 'x'),
                                 "\xff\xfe",
                                 R"({"owner":{"pid":"x","czxid":1e300,"turn":-1,"label":7}})",
                                 R"({"state":"free"})",
                                 R"({"lock_delay_ms":-9223372036854775808})"};
    for (std::size_t i = 0; i < whole.size(); ++i) all.push_back(whole.substr(0, i));
    for (const auto& data : all) {
      CAPTURE(data);
      robust_world w;
      w.ensemble.create("/q");
      w.ensemble.create(record, data);
      w.time.run_for(100ms);
      w.hold(w.mine);
      REQUIRE(w.mine.abandoned());
      CHECK(w.mine.abandoned()->label.empty());
      w.mine.recovered();
      w.mine.leave(1, mode);
      REQUIRE(w.queued(0));
    }
    CHECK(detail::read_robust_record(R"({"lock_delay_ms":99999999})").lock_delay == detail::longest_lock_delay);
  }

  TEST_CASE("a lock delay is waited out by all but the next run of the same program on the same host") {
    detail::robust_record found{.node = "x", .owner = {.label = "a", .host = "h"}, .lock_delay = 5s};
    const detail::robust_record next_run{.node = "y", .owner = {.label = "a", .host = "h"}};
    const detail::robust_record elsewhere{.node = "y", .owner = {.label = "a", .host = "i"}};
    const detail::robust_record another{.node = "y", .owner = {.label = "b", .host = "h"}};
    CHECK(found.delays(next_run) == 0ms);
    CHECK(found.delays(elsewhere) == 5s);
    CHECK(found.delays(another) == 5s);
    found.owner.why = loss_reason::held_too_long;  // so its owner lives
    CHECK(found.delays(next_run) == 5s);
    found.held = false;
    CHECK(found.delays(another) == 0ms);
  }

  TEST_CASE("a record says again what was written, whatever bytes a label has") {
    detail::robust_record some{.node = "lock-0000000001", .lock_delay = 5s};
    some.owner = {.fence = {7, 3},
                  .label = "a\"\n\x01",
                  .host = "h",
                  .pid = 12,
                  .session = -5,
                  .why = loss_reason::held_too_long};
    some.owner.since += 1764230400123ms;
    some.before = dead_owner{.fence = {5, 0}, .label = "b"};
    const auto read = detail::read_robust_record(some.text());
    CHECK(read.owner == some.owner);
    CHECK(read.before == some.before);
    CHECK(read.node == some.node);
    CHECK(read.lock_delay == 5s);
    CHECK(read.held);
    some.held = false;
    CHECK_FALSE(detail::read_robust_record(some.text()).held);
    CHECK(detail::read_robust_record(some.text()).left_by() == *some.before);
    some.owner.label = "\xff";
    CHECK(detail::read_robust_record(some.text()).owner.label == "");
  }

  TEST_CASE("an operator who deletes the record says that all is in order") {
    robust_world w;
    w.leave_dead();
    REQUIRE(w.queued(1));
    w.ensemble.remove(record);
    w.time.run_for(100ms);
    w.hold(w.mine);
    CHECK_FALSE(w.mine.abandoned());
    w.ensemble.remove(record);
    w.time.run_for(100ms);
    w.mine.leave(1, mode);
    CHECK(w.queued(0));  // what goes along is missing: the node goes by itself
  }

  TEST_CASE("a record that cannot be deleted, as it has a child, is told of, and keeps no one from the lock") {
    robust_world w;
    w.hold(w.mine);
    w.ensemble.create(record + "/child");
    w.mine.leave(1, mode);
    for (int i = 0; i < 3; ++i) {
      w.hold(w.third);
      CHECK(w.third.abandoned());
      w.third.leave(1, mode);
    }
  }

  TEST_CASE("a server that refuses the record fails the call, and leaves nothing but what a dead owner has left") {
    robust_world w;
    const auto call = w.mine.enter(1, mode);
    REQUIRE(w.eventually([&] { return !w.ensemble.children("/q").empty(); }));
    w.ensemble.forbid(operation::create, "/q");
    REQUIRE(w.ends(call, outcome::failed));
    CHECK(call->why->code == errc::not_authorized);
    CHECK(w.queued(0));
    w.ensemble.allow_everything();
    w.hold(w.mine);
    w.mine.leave(1, mode);
    CHECK(w.queued(0));
  }

  TEST_CASE("a record that may not be read is replaced, and told as a death of somebody") {
    robust_world w;
    w.leave_dead();
    REQUIRE(w.queued(1));
    w.ensemble.forbid(operation::get, record);
    w.hold(w.mine);
    REQUIRE(w.mine.abandoned());
    CHECK(w.mine.abandoned()->label.empty());
  }
}

}  // namespace latchkey::testing
