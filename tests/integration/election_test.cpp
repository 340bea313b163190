// SPDX-License-Identifier: Apache-2.0
#include <latchkey/election.hpp>
#include <latchkey/leader_view.hpp>

#include <atomic>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "support/reached.hpp"
#include "support/support.hpp"
#include "test_cases.hpp"

namespace latchkey::testing {
namespace {

/// So long that no proof comes to the rescue: it must be the deletion itself that is heard of.
/// A candidate that works until its term ends, and runs on.
struct service {
  client owner;
  election candidate;
  std::atomic<bool> leads{false};
  std::vector<std::string> placed_at_the_end;  // the queue, as its work has returned
  std::stop_source shutdown;

  service(const std::string& connect_string, std::string path, std::string id, std::chrono::milliseconds session)
      : owner{connect_string, quick(session)}, candidate{owner, std::move(path), {.id = std::move(id)}} {}

  void run() {
    candidate.run(shutdown.get_token(), [this](const grant&, const std::stop_token& stop) {
      leads = true;
      while (!stop.stop_requested()) pause();
      placed_at_the_end = queue_at(candidate.path());
      leads = false;
    });
  }
};

leader_sighting sighting(const std::string& id, const grant& term) { return {true, leader{id, term.fence()}}; }

}  // namespace

TEST_SUITE("election") {
  LATCHKEY_TEST_CASES("the next candidate leads when an operator deletes the leader's node, which is told at once", who,
                      all_callers()) {
    const auto path = fresh_path();
    service ann{servers().connect_string(), path, "ann", long_session};
    service ben{servers().connect_string(), path, "ben", long_session};
    client follows{servers().connect_string(), quick()};
    leader_view view{follows, path};
    signal ann_leads;
    group_of_actors all{who};
    all.start([&] { ann.run(); });
    all.start([&] {
      ann_leads.wait();
      ben.run();
    });
    all.start([&] {
      REQUIRE(eventually([&] { return ann.leads.load(); }));
      ann_leads.set();
      REQUIRE(queued(path, 2));
      const auto term = ann.candidate.held();
      REQUIRE(eventually([&] { return view.now() == sighting("ann", term); }));
      const auto node = path + "/" + queue_at(path).front();
      CHECK(servers().get(node) == "ann");
      REQUIRE(servers().remove(node));
      CHECK(eventually([&] { return term.loss() == loss_reason::node_deleted; }));
      REQUIRE(eventually([&] { return ben.leads.load(); }));
      CHECK(eventually([&] { return view.now() == sighting("ben", ben.candidate.held()); }));
      REQUIRE(queued(path, 2));  // it stands again
      CHECK_FALSE(ann.leads);
      ann.shutdown.request_stop();
      REQUIRE(queued(path, 1));
      const auto last = queue_at(path);
      ben.shutdown.request_stop();
      CHECK(eventually([&] { return view.now() == leader_sighting{.known = true}; }));
      CHECK(ben.placed_at_the_end == last);  // the place goes after the work
    });
    all.join();
    CHECK(queue_at(path).empty());
  }

  TEST_CASE("a leader whose session expires stands again in a new one") {
    const auto path = fresh_path();
    service ann{servers().connect_string(), path, "ann", 4s};
    on_threads all;
    all.start([&] { ann.run(); });
    all.start([&] {
      REQUIRE(eventually([&] { return ann.leads.load(); }));
      const auto term = ann.candidate.held();
      CHECK(servers().expire(ann.owner.session_id()));
      REQUIRE(eventually([&] { return ann.candidate.held() && ann.candidate.held() != term; }));
      const auto why = term.loss();  // the deletion of the node may be heard of first
      CHECK((why == loss_reason::session_expired || why == loss_reason::node_deleted));
      CHECK(term.fence() < ann.candidate.held().fence());
      ann.shutdown.request_stop();
    });
    all.join();
    CHECK(queue_at(path).empty());
  }

  TEST_CASE("an election may be destroyed in its own work") {
    const auto path = fresh_path();
    client owner{servers().connect_string(), quick()};
    for (const bool stops : {true, false}) {
      CAPTURE(stops);
      std::stop_source shutdown;
      auto candidate = std::make_unique<election>(owner, path);
      auto& stands = *candidate;
      const auto failed = failure_of([&] {
        stands.run(shutdown.get_token(), [&](const grant& term, const std::stop_token& stop) {
          if (stops) shutdown.request_stop();
          candidate.reset();
          CHECK_FALSE(term);
          CHECK(stop.stop_requested() == stops);
        });
      });
      CHECK(failed.first == (stops ? std::error_code{} : make_error_code(errc::lock_destroyed)));
      CHECK(eventually([&] { return queue_at(path).empty(); }));
    }
  }

  TEST_CASE("a follower that is cut off does not know who leads, and learns of it when it is connected again") {
    const auto path = fresh_path();
    proxy net{servers().addresses()};
    client leads{servers().connect_string(), quick()};
    client follows{net.connect_string(), quick(4s)};
    election candidate{leads, path, {.id = "ann"}};
    auto term = candidate.acquire();
    leader_view view{follows, path};
    REQUIRE(eventually([&] { return view.now() == sighting("ann", term.grant()); }));
    net.black_hole();
    CHECK(eventually([&] { return view.now() == leader_sighting{}; }));
    term.release();
    term = candidate.acquire();
    net.heal();
    CHECK(eventually([&] { return view.now() == sighting("ann", term.grant()); }));
  }
}

}  // namespace latchkey::testing
