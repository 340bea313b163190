// SPDX-License-Identifier: Apache-2.0
/// A mutex that tells its next owner if the last one did not unlock it.

#include <array>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "log_lines.hpp"
#include "recipes/robust/robust_record.hpp"
#include "support/calm_world.hpp"

namespace latchkey::testing {
namespace {

using namespace std::chrono_literals;
using detail::duration;

const std::string record = "/q/robust-owner";

client_options labelled(const char* label) {
  client_options options;
  options.label = label;
  return options;
}

/// One waits for what two and three may have.
struct robust_world {
  simulation time;
  fake_ensemble ensemble{time};
  simulated_client one{ensemble, labelled("one")};
  simulated_client two{ensemble, labelled("two")};
  simulated_client three{ensemble, labelled("three")};
  simulated_lock mine;
  simulated_lock theirs;
  simulated_lock third;

  explicit robust_world(std::uint64_t seed = 1, lock_settings settings = {.family = lock_family::robust})
      : time{seed},
        mine{(one.connect(), one), "/q", settings},
        theirs{(two.connect(), two), "/q", settings},
        third{(three.connect(), three), "/q", settings} {}

  bool eventually(const std::function<bool()>& what) {
    return time.run_until(what, time.now() + std::chrono::minutes{3});
  }
  bool ends(const simulated_lock::call& call, outcome how) {
    return eventually([&] { return call->what != outcome::waiting; }) && call->what == how;
  }
  grant hold(simulated_lock& lock, std::uint64_t fiber = 1) {
    REQUIRE(ends(lock.enter(fiber, mode), outcome::granted));
    return lock.current(fiber, mode);
  }
  bool queued(std::size_t count) {  // contenders and the record
    const bool done = eventually([&] { return ensemble.children("/q").size() == count; });
    time.run_for(100ms);
    return done && ensemble.children("/q").size() == count;
  }
  static std::int64_t session(simulated_client& of) {
    return of.run([&] { return of.core()->session().info().id; });
  }
  std::string node_of(simulated_client& of) {
    for (const auto& name : ensemble.children("/q")) {
      if (ensemble.owner("/q/" + name) == session(of)) return "/q/" + name;
    }
    return {};
  }
  /// Two holds it and dies.
  fencing_token leave_dead() {
    const auto fence = hold(theirs).fence();
    two.die();
    return fence;
  }
  static std::uint64_t told(simulated_client& of) {
    return of.run([&] { return of.core()->metrics().locks.at(0).abandoned; });
  }
};

}  // namespace

TEST_SUITE("robust mutex") {
  TEST_CASE("who unlocks leaves nothing behind, and nothing is told, in turns and from process to process") {
    robust_world w;
    for (int i = 0; i < 3; ++i) {
      const auto held = w.hold(w.mine);
      CHECK(held);
      CHECK(w.ensemble.exists(record));
      CHECK_FALSE(w.mine.abandoned());
      const auto turn = w.mine.enter(2, mode);
      const auto next = w.theirs.enter(1, mode);
      REQUIRE(w.queued(3));
      w.mine.leave(1, mode);
      REQUIRE(w.ends(turn, outcome::granted));
      CHECK_FALSE(w.mine.abandoned());
      w.mine.leave(2, mode);
      REQUIRE(w.ends(next, outcome::granted));
      CHECK_FALSE(w.theirs.abandoned());
      w.theirs.leave(1, mode);
      CHECK(w.queued(0));
    }
    CHECK(w.told(w.one) == 0);
  }

  TEST_CASE("the next owner is told who has died with the lock, and of what token") {
    robust_world w;
    const auto fence = w.leave_dead();
    const auto call = w.mine.enter(1, mode);
    REQUIRE(w.ends(call, outcome::granted));
    const auto dead = w.mine.abandoned();
    REQUIRE(dead);
    CHECK(dead->label == "two");
    CHECK(dead->fence == fence);
    CHECK(dead->pid != 0);
    CHECK_FALSE(dead->host.empty());
    CHECK(dead->session == w.session(w.two));
    CHECK_FALSE(dead->why);
    CHECK(dead->fence < w.mine.current(1, mode).fence());
    CHECK(w.told(w.one) == 1);
  }

  TEST_CASE("each later owner is told, too, until one says that all is in order, and has unlocked") {
    robust_world w;
    const auto fence = w.leave_dead();
    for (auto* const lock : {&w.mine, &w.third, &w.mine}) {
      w.hold(*lock);
      REQUIRE(lock->abandoned());
      CHECK(lock->abandoned()->fence == fence);
      const auto turn = lock->enter(2, mode);  // who goes on with the same entry
      lock->leave(1, mode);
      REQUIRE(w.ends(turn, outcome::granted));
      CHECK(lock->abandoned());
      lock->leave(2, mode);
      CHECK_FALSE(lock->abandoned());
    }
    w.hold(w.third);
    w.third.recovered();
    CHECK_FALSE(w.third.abandoned());
    const auto turn = w.third.enter(2, mode);
    w.third.leave(1, mode);
    REQUIRE(w.ends(turn, outcome::granted));
    CHECK_FALSE(w.third.abandoned());
    w.third.leave(2, mode);
    w.hold(w.mine);
    CHECK_FALSE(w.mine.abandoned());
    w.mine.leave(1, mode);
    CHECK(w.queued(0));
  }

  TEST_CASE("who dies after recovered() has unlocked nothing") {
    robust_world w;
    w.leave_dead();
    const auto second = w.hold(w.third).fence();
    w.third.recovered();
    w.three.die();
    w.hold(w.mine);
    REQUIRE(w.mine.abandoned());
    CHECK(w.mine.abandoned()->label == "three");
    CHECK(w.mine.abandoned()->fence == second);
  }

  TEST_CASE("an owner whose session ends, or whose node is deleted, has not unlocked it, though it calls unlock()") {
    for (const bool expires : {true, false}) {
      CAPTURE(expires);
      robust_world w;
      w.hold(w.theirs);
      const auto next = w.mine.enter(1, mode);
      REQUIRE(w.queued(3));
      if (expires) {
        w.ensemble.expire(w.session(w.two));
      } else {
        w.ensemble.remove(w.node_of(w.two));
      }
      REQUIRE(w.ends(next, outcome::granted));
      w.theirs.leave(1, mode);
      w.time.run_for(10s);
      REQUIRE(w.mine.abandoned());
      CHECK(w.mine.abandoned()->label == "two");
      w.mine.recovered();
      w.mine.leave(1, mode);
      CHECK(w.queued(0));
    }
  }

  TEST_CASE("who holds for too long is told with the reason, and what its callers do next is told in its turn") {
    robust_world w{1, {.family = lock_family::robust, .max_hold = 5s}};
    const auto fence = w.hold(w.theirs).fence();
    const auto next = w.mine.enter(1, mode);
    REQUIRE(w.ends(next, outcome::granted));
    const auto dead = w.mine.abandoned();
    REQUIRE(dead);
    CHECK(dead->fence == fence);
    CHECK(dead->why == loss_reason::held_too_long);
    w.theirs.leave(1, mode);
    w.mine.leave(1, mode);
    w.hold(w.theirs);
    REQUIRE(w.theirs.abandoned());  // of itself: nobody has put it in order
    CHECK(w.theirs.abandoned()->fence == fence);
  }

  TEST_CASE("what was poisoned is told as a death, also to the next caller of the object, unless that is taken back") {
    robust_world w;
    const auto fence = w.hold(w.mine).fence();
    w.mine.poison();
    w.mine.recovered();
    const auto turn = w.mine.enter(2, mode);
    w.mine.leave(1, mode);
    REQUIRE(w.ends(turn, outcome::granted));
    CHECK_FALSE(w.mine.abandoned());
    w.mine.poison();
    const auto next = w.mine.enter(3, mode);
    w.mine.leave(2, mode);
    REQUIRE(w.ends(next, outcome::granted));
    REQUIRE(w.mine.abandoned());
    CHECK(w.mine.abandoned()->fence == fence);
    w.mine.recovered();
    w.mine.leave(3, mode);
    w.mine.poison();  // nobody has it
    w.hold(w.third);
    CHECK_FALSE(w.third.abandoned());
    w.third.leave(1, mode);
    CHECK(w.queued(0));
  }

  TEST_CASE("a lock object or a client that goes while it is held is a dead owner; one that is not held is none") {
    robust_world w;
    w.hold(w.theirs);
    w.theirs.shut();
    w.hold(w.mine);
    CHECK(w.mine.abandoned());
    w.mine.recovered();
    w.mine.leave(1, mode);
    w.hold(w.mine);
    w.mine.leave(1, mode);
    w.mine.shut();
    w.hold(w.third);
    CHECK_FALSE(w.third.abandoned());
    w.three.close();
    simulated_lock last{w.two, "/q", {.family = lock_family::robust}};
    w.hold(last);
    CHECK(last.abandoned());
  }

  TEST_CASE("owners of other kinds are excluded, and are not told of") {
    robust_world w;
    simulated_lock plain{w.three, "/q", {.family = lock_family::turns}};
    const auto fence = w.leave_dead();
    w.hold(plain);
    const auto next = w.mine.enter(1, mode);
    REQUIRE(w.queued(3));
    CHECK(next->what == outcome::waiting);
    w.three.die();
    REQUIRE(w.ends(next, outcome::granted));
    REQUIRE(w.mine.abandoned());
    CHECK(w.mine.abandoned()->fence == fence);
  }

  TEST_CASE("a lock delay keeps the lock from others for as long, and not from tries, nor the next run of the same") {
    robust_world w{1, {.family = lock_family::robust, .lock_delay = 20s}};
    w.hold(w.theirs);
    const auto next = w.mine.enter(1, mode);
    REQUIRE(w.queued(3));
    w.ensemble.expire(w.session(w.two));
    REQUIRE(w.eventually([&] { return w.ensemble.children("/q").size() == 2; }));
    const auto died = w.time.now();
    w.time.run_for(5s);
    const auto attempt = w.third.enter(1, mode, detail::at_once);
    CHECK(w.ends(attempt, outcome::refused));
    w.time.run_until(died + 20s - 1ms);
    CHECK(next->what == outcome::waiting);
    REQUIRE(w.ends(next, outcome::granted));
    CHECK(w.time.now() < died + 21s);
    CHECK(w.mine.abandoned());
    w.mine.leave(1, mode);  // not in order: but the delay is over
    const auto since = w.time.now();
    w.hold(w.third);
    CHECK(w.time.now() < since + 1s);
    w.three.die();
    simulated_client again{w.ensemble, labelled("three")};
    REQUIRE(again.connect());
    simulated_lock next_run{again, "/q", {.family = lock_family::robust}};
    const auto call = next_run.enter(1, mode);
    REQUIRE(w.eventually([&] { return w.node_of(w.three).empty(); }));
    const auto gone = w.time.now();
    REQUIRE(w.ends(call, outcome::granted));
    CHECK(w.time.now() < gone + 1s);
    CHECK(next_run.abandoned()->label == "three");
  }

  TEST_CASE("tries of one object wait a lock delay out together, and say once who has died") {
    const log_lines log{log_level::warning};
    robust_world w{1, {.family = lock_family::robust, .lock_delay = 20s}};
    w.leave_dead();
    REQUIRE(w.queued(1));
    const auto died = w.time.now();
    for (;;) {
      const auto attempt = w.mine.enter(1, mode, detail::at_once);
      REQUIRE(w.eventually([&] { return attempt->what != outcome::waiting; }));
      if (attempt->what == outcome::granted) break;
      w.time.run_for(1s);
      REQUIRE(w.time.now() < died + 1min);
    }
    CHECK(w.time.now() >= died + 20s);
    CHECK(w.time.now() < died + 23s);
    CHECK(w.mine.abandoned());
    CHECK(log.with("has not unlocked it").size() == 1);
  }

  TEST_CASE("who waits a long lock delay out is not told to hold the lock itself") {
    const log_lines log{log_level::warning};
    robust_world w{1, {.family = lock_family::robust, .lock_delay = 50s}};
    w.leave_dead();
    const auto call = w.mine.enter(1, mode);
    CHECK(w.ends(call, outcome::granted));
    CHECK(log.with("waiting long").empty());
  }

  TEST_CASE("who has held for too long is no earlier run of who has the same label: the delay is waited out") {
    robust_world w{1, {.family = lock_family::robust, .max_hold = 5s, .lock_delay = 20s}};
    simulated_client again{w.ensemble, labelled("two")};
    REQUIRE(again.connect());
    simulated_lock next{again, "/q", {.family = lock_family::robust}};
    w.hold(w.theirs);
    const auto since = w.time.now();
    w.hold(next);
    CHECK(w.time.now() >= since + 25s);
  }

  TEST_CASE("who dies in a lock delay has written nothing: the next one waits the whole of it") {
    robust_world w{1, {.family = lock_family::robust, .lock_delay = 20s}};
    const auto fence = w.hold(w.theirs).fence();
    const auto head = w.third.enter(1, mode);
    REQUIRE(w.queued(3));
    const auto next = w.mine.enter(1, mode);
    REQUIRE(w.queued(4));
    w.ensemble.expire(w.session(w.two));
    REQUIRE(w.queued(3));
    w.time.run_for(15s);
    CHECK(head->what == outcome::waiting);
    w.ensemble.expire(w.session(w.three));
    REQUIRE(w.eventually([&] { return w.ensemble.owner("/q/" + w.ensemble.children("/q").front()) != 0; }));
    const auto since = w.time.now();
    REQUIRE(w.ends(next, outcome::granted));
    CHECK(w.time.now() >= since + 20s - 1s);
    CHECK(w.mine.abandoned()->fence == fence);
  }

  TEST_CASE("a try is granted a free lock, told of a death, and refused in a lock delay, and leaves nothing") {
    for (const auto delay : {0ms, 5000ms}) {
      CAPTURE(delay.count());
      robust_world w{1, {.family = lock_family::robust, .lock_delay = delay}};
      REQUIRE(w.ends(w.mine.enter(1, mode, detail::at_once), outcome::granted));
      CHECK(w.ends(w.third.enter(1, mode, detail::at_once), outcome::refused));
      w.mine.leave(1, mode);
      CHECK(w.queued(0));
      w.leave_dead();
      REQUIRE(w.queued(1));
      const auto attempt = w.mine.enter(1, mode, detail::at_once);
      REQUIRE(w.ends(attempt, delay == 0ms ? outcome::granted : outcome::refused));
      if (delay == 0ms) CHECK(w.mine.abandoned());
      if (delay == 0ms) w.mine.leave(1, mode);
      CHECK(w.queued(1));
    }
  }

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

  TEST_CASE("a call that gives up at any step leaves nothing, and says nothing of a death that it did not see") {
    for (const bool after_death : {false, true}) {
      for (int steps = 0; steps < 40; ++steps) {
        CAPTURE(after_death);
        CAPTURE(steps);
        robust_world w{static_cast<std::uint64_t>(steps) + 1};
        fencing_token fence;
        if (after_death) fence = w.leave_dead();
        if (after_death) REQUIRE(w.queued(1));
        const auto call = w.mine.enter(1, mode);
        for (int i = 0; i < steps; ++i) w.time.step();
        if (call->what == outcome::waiting) w.mine.cancel(call, mode);
        if (call->what == outcome::granted) w.mine.leave(1, mode);
        REQUIRE(w.queued(after_death ? 1 : 0));
        w.hold(w.third);
        CHECK(w.third.abandoned().has_value() == after_death);
        if (after_death) CHECK(w.third.abandoned()->fence == fence);
        w.third.recovered();
        w.third.leave(1, mode);
        REQUIRE(w.queued(0));
      }
    }
  }

  TEST_CASE("whatever goes wrong at whatever step, exactly those are told who follow on a death") {
    enum class fault { reset, hole, expiry, deletion };
    for (const bool dies : {false, true}) {
      for (const auto what : {fault::reset, fault::hole, fault::expiry, fault::deletion}) {
        for (int steps = 0; steps < 60; ++steps) {
          CAPTURE(dies);
          CAPTURE(static_cast<int>(what));
          CAPTURE(steps);
          robust_world w{static_cast<std::uint64_t>(steps) + 1};
          const auto fence = w.hold(w.theirs).fence();
          const auto call = w.mine.enter(1, mode);
          REQUIRE(w.queued(3));
          dies ? w.ensemble.expire(w.session(w.two)) : w.theirs.leave(1, mode);
          for (int i = 0; i < steps; ++i) w.time.step();
          if (call->what == outcome::granted) break;
          switch (what) {
            case fault::reset:
              w.one.connector().latest()->lose_connection();
              break;
            case fault::hole:
              w.one.connector().latest()->open_hole(w.one.session_timeout());
              break;
            case fault::expiry:
              w.ensemble.expire(w.session(w.one));
              break;
            case fault::deletion:
              w.ensemble.remove(w.node_of(w.one));
          }
          REQUIRE(w.ends(call, outcome::granted));
          const auto dead = w.mine.abandoned();
          // It may have been its own record already.
          const bool by_itself = dead && dead->label == "one" && what != fault::reset;
          if (!by_itself) CHECK(dead.has_value() == dies);
          if (dead && !by_itself) CHECK(dead->fence == fence);
          w.mine.recovered();
          w.mine.leave(1, mode);
          w.hold(w.third);
          // Its session may have been over, or its node gone, when it unlocked.
          if (w.third.abandoned()) CHECK(what != fault::reset);
          if (w.third.abandoned()) CHECK(w.third.abandoned()->label == "one");
          w.third.recovered();
          w.third.leave(1, mode);
          REQUIRE(w.queued(0));
        }
      }
    }
  }

  TEST_CASE("an unlock whose connection is lost at any step is done once, and is no death, if its session goes on") {
    for (int steps = 0; steps < 40; ++steps) {
      for (const bool same_client : {false, true}) {
        CAPTURE(steps);
        CAPTURE(same_client);
        robust_world w{static_cast<std::uint64_t>(steps) + 1};
        simulated_lock other{w.two, "/q", {.family = lock_family::robust}};
        auto& next = same_client ? other : w.mine;
        w.hold(w.theirs);
        const auto call = next.enter(1, mode);
        REQUIRE(w.queued(3));
        w.theirs.leave(1, mode);
        for (int i = 0; i < steps; ++i) w.time.step();
        w.two.connector().latest()->lose_connection();
        REQUIRE(w.ends(call, outcome::granted));
        CHECK_FALSE(next.abandoned());
        CHECK(w.ensemble.exists(record));
        w.time.run_for(10s);
        CHECK(w.ensemble.exists(record));  // the repeated deletion has not taken that of the next one
        next.leave(1, mode);
        REQUIRE(w.queued(0));
      }
    }
  }

  TEST_CASE("a transaction does not release a robust mutex: only its unlock knows that all is in order") {
    robust_world w;
    w.hold(w.mine);
    const auto node = w.node_of(w.one);
    CHECK_FALSE(w.one.run([&] { return w.one.core()->lease_keeper().holder_of(node)->begin_release(); }));
    w.mine.leave(1, mode);
    CHECK(w.queued(0));
  }

  TEST_CASE("the log says who has died, once for each who takes the lock over") {
    const log_lines log{log_level::warning};
    robust_world w;
    w.leave_dead();
    w.hold(w.mine);
    w.mine.leave(1, mode);
    w.hold(w.third);
    CHECK(log.with("an owner of a robust_mutex has not unlocked it").size() == 1);
  }
}

}  // namespace latchkey::testing
