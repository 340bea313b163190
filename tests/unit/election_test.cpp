// SPDX-License-Identifier: Apache-2.0
/// Candidates of elections: their nodes, their terms, and the end of those.

#include <doctest/doctest.h>

#include "support/elected_world.hpp"

namespace latchkey::testing {
namespace {

using namespace std::chrono_literals;

}  // namespace

TEST_SUITE("election") {
  TEST_CASE("a candidate's node has Curator's name, its id as data, and its term as czxid") {
    elected_world w;
    const auto term = w.elect(w.ann);
    const auto node = w.node(term);
    CHECK(node.find("-latch-") != std::string::npos);
    CHECK(node.starts_with("/q/_c_"));
    CHECK(w.ensemble.data(node) == "ann");
    CHECK(term.fence() == fencing_token{w.ensemble.czxid(node), 0});
    w.ann.leave(1, election_mode);
  }

  TEST_CASE("every term has a node of its own, also of one who comes back at once, and of callers of one object") {
    elected_world w;
    auto last = w.elect(w.ann).fence();
    const auto check_next = [&](const grant& term) {
      CHECK(term.fence() > last);
      CHECK(term.fence().turn == 0);
      CHECK(w.node(term) != "");
      last = term.fence();
    };
    for (int i = 0; i < 5; ++i) {
      w.ann.leave(1, election_mode);
      check_next(w.elect(w.ann));
    }
    const auto second = w.ann.enter(2, election_mode);
    w.ann.leave(1, election_mode);
    REQUIRE(w.ends(second, outcome::granted));
    check_next(w.ann.current(2, election_mode));
    w.ann.leave(2, election_mode);
    CHECK(w.queued(0));
    CHECK(w.one.connector().sent(request_kind::requeue) == 0);
  }

  TEST_CASE("who comes back stands behind those who waited") {
    elected_world w;
    w.elect(w.ann);
    const auto ben = w.ben.enter(1, election_mode);
    REQUIRE(w.queued(2));
    w.ann.leave(1, election_mode);
    const auto again = w.ann.enter(1, election_mode);
    REQUIRE(w.ends(ben, outcome::granted));
    w.time.run_for(1s);
    CHECK(again->what == outcome::waiting);
    w.ben.leave(1, election_mode);
    CHECK(w.ends(again, outcome::granted));
    w.ann.leave(1, election_mode);
  }

  TEST_CASE("a latch and a lock on one path exclude one another") {
    elected_world w;
    simulated_lock lock{w.two, "/q", {lock_family::turns}};
    w.elect(w.ann);
    const auto waiting = lock.enter(1, contender_kind::lock);
    REQUIRE(w.queued(2));
    CHECK(waiting->what == outcome::waiting);
    w.ann.leave(1, election_mode);
    REQUIRE(w.ends(waiting, outcome::granted));
    const auto ann = w.ann.enter(1, election_mode);
    REQUIRE(w.queued(2));
    CHECK(ann->what == outcome::waiting);
    lock.leave(1, contender_kind::lock);
    CHECK(w.ends(ann, outcome::granted));
    w.ann.leave(1, election_mode);
  }

  TEST_CASE("a leader whose node is deleted by an operator learns of it, and stands again with another node") {
    elected_world w;
    const auto term = w.elect(w.ann);
    w.time.run_for(1s);
    w.ensemble.remove(w.node(term));
    CHECK(w.eventually([&] { return term.loss() == loss_reason::node_deleted; }));
    w.ann.leave(1, election_mode);
    CHECK(w.elect(w.ann).fence() > term.fence());
    w.ann.leave(1, election_mode);
  }
}

}  // namespace latchkey::testing
