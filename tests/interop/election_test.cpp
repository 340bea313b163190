// SPDX-License-Identifier: Apache-2.0
/// Elections in which candidates of latchkey and of Curator stand.

#include <latchkey/election.hpp>
#include <latchkey/leader_view.hpp>

#include <string>

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "checker.hpp"
#include "mixed.hpp"

namespace latchkey::testing {
namespace {

using naming = election_options::naming;

struct format {
  const char* name;  ///< of the kind, for the peers
  naming as;
};
constexpr format formats[] = {{"latch", naming::latch}, {"selector", naming::selector}};

}  // namespace

TEST_SUITE("election") {
  TEST_CASE("candidates of latchkey and Curator lead one after another, through an expiry and kills") {
    for (const auto& each : formats) {
      CAPTURE(each.name);
      history seen;
      mixed_contenders all{4s, three_of_each};
      const auto path = fresh_path();
      const auto go_on = [&](std::size_t more) {
        if (all.all_go_on(seen, more)) return true;
        for (const auto& node : queue_at(path)) MESSAGE(node << ": " << servers().get(path + "/" + node).value_or(""));
        return false;
      };
      all.start({path, until_stopped, 2ms, {each.name, each.name}, each.name, {}}, seen);
      REQUIRE(go_on(10));
      // Not those of Curator: such a candidate stands again by itself, and the record of its term would name that node.
      expire(all.latchkey(0), seen);
      CHECK(go_on(5));
      for (auto* candidate : {&all.latchkey(1), &all.curator(0)}) {
        all.kill(candidate->name(), seen);
        CHECK(go_on(5));
      }
      all.stop();
      check(seen);
    }
  }

  TEST_CASE("while the servers elect a leader of their own, nobody leads twice, and all go on") {
    for (const auto& each : formats) {
      CAPTURE(each.name);
      history seen;
      mixed_contenders all{10s, three_of_each};
      all.start({fresh_path(), until_stopped, 2ms, {each.name, each.name}, each.name, {}}, seen);
      REQUIRE(all.all_go_on(seen, 5));
      check_all_go_on_without_leader(all, seen);
      all.stop();
      check(seen);
    }
  }

  TEST_CASE("each sees the candidates and the leader of the other") {
    for (const auto& each : formats) {
      CAPTURE(each.name);
      const auto path = fresh_path();
      client here{servers().connect_string(), quick(10s)};
      election ours{here, path, {.id = "ann", .as = each.as}};
      leader_view view{here, path};
      contender_there java{curator(), fresh_name("curator")};
      contender_there looks{curator(), fresh_name("curator")};
      const auto participants = [&] { return looks.ask(fmt::format("participants {} {}", each.name, path)); };

      auto term = ours.acquire();
      java.queue_up(each.name, path);
      REQUIRE(queued(path, 2));
      CHECK(participants() == "participants\tann\tann\t" + java.name());
      CHECK(eventually([&] { return view.now() == leader_sighting{true, leader{"ann", term.fence()}}; }));

      term.release();
      const fencing_token next{java.granted(), 0};
      CHECK(next > term.fence());
      CHECK(participants() == "participants\t" + java.name() + "\t" + java.name());
      CHECK(eventually([&] { return view.now() == leader_sighting{true, leader{java.name(), next}}; }));

      java.release();
      CHECK(eventually([&] { return view.now() == leader_sighting{.known = true}; }));
    }
  }

  TEST_CASE("a leader of latchkey that is cut off knows of its end before Curator leads") {
    for (const auto& each : formats) {
      CAPTURE(each.name);
      proxy net{servers().addresses()};
      client here{net.connect_string(), quick(4s)};
      election ours{here, fresh_path(), {.as = each.as}};
      contender_there java{curator(), fresh_name("curator")};
      const auto term = ours.acquire();
      java.queue_up(each.name, ours.path());
      REQUIRE(queued(ours.path(), 2));
      net.black_hole();
      CHECK(term.grant().wait_for_end(patience()));
      CHECK(queue_at(ours.path()).size() == 2);
      CHECK_FALSE(java.answered());
      CHECK(java.granted() > term.fence().czxid);
      java.release();
      net.heal();
    }
  }
}

TEST_SUITE("election in time") {
  TEST_CASE("when the process of a leader is killed, another candidate leads within T + 2 s") {
    constexpr auto session_timeout = 4s;
    const auto process = start_latchkey();
    contender_there leads{*process, fresh_name("latchkey"), servers().connect_string(), session_timeout};
    contender_there java{curator(), fresh_name("curator"), servers().connect_string(), session_timeout};
    const auto path = fresh_path();
    leads.take("latch", path);
    java.queue_up("latch", path);
    REQUIRE(queued(path, 2));
    const auto killed = std::chrono::steady_clock::now();
    process->kill();
    java.granted();
    const auto taken = std::chrono::steady_clock::now() - killed;
    MESSAGE("Curator leads " << std::chrono::duration_cast<std::chrono::milliseconds>(taken).count() << " ms after");
    CHECK(taken < session_timeout + 2s);
    java.release();
  }
}

}  // namespace latchkey::testing
