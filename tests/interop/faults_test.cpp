// SPDX-License-Identifier: Apache-2.0
#include <latchkey/mutex.hpp>
#include <latchkey/session_file.hpp>

#include <array>
#include <chrono>
#include <cstdint>
#include <string>
#include <utility>

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "checker.hpp"
#include "mixed.hpp"
#include "temporary_folder.hpp"

namespace latchkey::testing {
namespace {

/// Waits for the answer to "lost".
std::int64_t time_of_loss(contender_there& who) { return std::stoll(split(who.answer(), ' ').at(1)); }

}  // namespace

TEST_SUITE("faults") {
  TEST_CASE("a session of each language expires, and all go on without an overlap") {
    for (const auto& plan_for : {exclusively, reading_and_writing}) {
      const auto path = fresh_path();
      history seen;
      mixed_contenders all{4s};
      all.start(plan_for(path, until_stopped, 2ms), seen);
      REQUIRE(all.all_go_on(seen, 5));
      for (auto* each : {&all.latchkey(0), &all.curator(0), &all.kazoo(0)}) {
        CAPTURE(each->name());
        expire(*each, seen);
        CHECK(all.all_go_on(seen, 5));
      }
      all.stop();
      check(seen);
    }
  }

  TEST_CASE("a process of each language is killed, and the others go on without an overlap") {
    const auto path = fresh_path();
    history seen;
    mixed_contenders all{2s};
    all.start(exclusively(path, until_stopped, 2ms), seen);
    REQUIRE(all.all_go_on(seen, 5));
    for (auto* each : {&all.kazoo(1), &all.latchkey(1), &all.curator(1)}) {
      CAPTURE(each->name());
      all.kill(each->name(), seen);
      CHECK(all.all_go_on(seen, 5));
    }
    all.stop();
    check(seen);
  }

  TEST_CASE("Curator and kazoo have the lock of a process that was killed as soon as its session is ended") {
    const temporary_folder folder;
    contender_there java{curator(), fresh_name("curator")};
    contender_there python{kazoo(), fresh_name("kazoo")};
    for (auto* const next : {&java, &python}) {
      CAPTURE(next->name());
      const auto path = fresh_path();
      const std::string file = folder / next->name().c_str();
      const auto process = start_latchkey();
      process->ask("a", fmt::format("open {} {} {}", servers().connect_string(),
                                    std::chrono::milliseconds{long_session}.count(), file));
      process->ask("a", "take mutex " + path);
      next->queue_up("mutex", path);
      REQUIRE(queued(path, 2));
      process->kill();
      CHECK(end_left_sessions(file).ended == 1);
      CHECK(next->granted() > 0);  // its session would end later than that is waited for
      next->release();
    }
  }

  TEST_CASE("the leader is killed, and all go on without an overlap") {
    const auto path = fresh_path();
    history seen;
    mixed_contenders all{10s};
    all.start(exclusively(path, until_stopped, 2ms), seen);
    REQUIRE(all.all_go_on(seen, 5));
    check_all_go_on_without_leader(all, seen);
    all.stop();
    check(seen);
  }

  TEST_CASE("a holder of latchkey that is cut off knows it before Curator or kazoo has the lock") {
    proxy net{servers().addresses()};
    client here{net.connect_string(), quick(4s)};
    contender_there java{curator(), fresh_name("curator")};
    contender_there python{kazoo(), fresh_name("kazoo")};
    mutex after_us_java{here, fresh_path()};
    mutex after_us_python{here, fresh_path()};
    const std::array pairs{std::pair{&after_us_java, &java}, std::pair{&after_us_python, &python}};
    for (const auto& [ours, theirs] : pairs) {
      ours->lock();
      theirs->queue_up("mutex", ours->path());
      REQUIRE(queued(ours->path(), 2));
    }
    net.black_hole();
    for (const auto& [ours, theirs] : pairs) {
      CHECK(ours->held().wait_for_end(patience()));
      CHECK(queue_at(ours->path()).size() == 2);
      CHECK_FALSE(theirs->answered());
    }
    for (const auto& [ours, theirs] : pairs) {
      theirs->granted();
      theirs->release();
      ours->unlock();
    }
    net.heal();
  }

  TEST_CASE(
      "a holder of Curator or kazoo that is cut off keeps latchkey out until its session ends, and hears of it later") {
    proxy net{servers().addresses()};
    client here{servers().connect_string(), quick(10s)};
    contender_there java{curator(), fresh_name("curator"), net.connect_string(), 4s};
    contender_there python{kazoo(), fresh_name("kazoo"), net.connect_string(), 4s};
    mutex after_java{here, fresh_path()};
    mutex after_python{here, fresh_path()};
    const std::array pairs{std::pair{&after_java, &java}, std::pair{&after_python, &python}};
    for (const auto& [ours, theirs] : pairs) {
      theirs->take("mutex", ours->path());
      theirs->say("lost");
    }
    net.black_hole();
    for (const auto& [ours, theirs] : pairs) {
      REQUIRE(ours->try_lock_for(patience()));
      CHECK(queue_at(ours->path()).size() == 1);
      CHECK_FALSE(theirs->answered());
    }
    const auto granted = monotonic_now();
    MESSAGE("Curator is told " << (time_of_loss(java) - granted) / 1'000'000 << " ms after our grant");
    CHECK_FALSE(python.answered());  // kazoo says LOST when a server has told it so
    net.heal();
    CHECK(time_of_loss(python) > granted);
    for (const auto& [ours, theirs] : pairs) {
      CHECK(theirs->believes());  // the lock objects know nothing of sessions
      ours->unlock();
    }
  }
}

}  // namespace latchkey::testing
