// SPDX-License-Identifier: Apache-2.0
/// What a client counts of its session and its lease.

#include <doctest/doctest.h>

#include "support/calm_world.hpp"

namespace latchkey::testing {
namespace {

using namespace std::chrono_literals;

struct metered_world : calm_world {
  simulated_lock lock{one, "/q", {}};

  client_metrics counts() {
    return one.run([this] { return one.core()->metrics(); });
  }
  void take() { REQUIRE(ends(lock.enter(1, contender_kind::lock), outcome::granted)); }
};

}  // namespace

TEST_SUITE("lease metrics") {
  TEST_CASE("requests are counted by kind, and each answer with its time") {
    metered_world w;
    w.time.run_for(1s);  // what begins a session is answered
    const auto before = w.counts();
    auto& to = w.one.connector();
    to.forget_sent();
    w.take();
    w.lock.leave(1, contender_kind::lock);
    w.time.run_for(w.one.session_timeout());
    const auto now = w.counts();
    CHECK(now.reads - before.reads == to.sent(operation::children) + to.sent(operation::get));
    CHECK(now.writes - before.writes == to.sent(operation::create) + to.sent(operation::remove));
    CHECK(now.transactions - before.transactions == to.sent(request_kind::check) + to.sent(request_kind::remove_all) +
                                                        to.sent(request_kind::replace) +
                                                        to.sent(request_kind::requeue));
    CHECK(now.syncs - before.syncs == to.sent(operation::sync));
    CHECK(now.writes > before.writes);
    CHECK(now.syncs > before.syncs);
    CHECK(now.request.count - before.request.count == to.sent() + to.sent(operation::sync));
    CHECK(now.unanswered == 0);
    CHECK(now.deletions_owed == 0);
  }

  TEST_CASE("a holder's proofs are counted, and what was left of its lease when they came") {
    metered_world w;
    w.take();
    w.time.run_for(w.one.session_timeout() * 4);
    const auto now = w.counts();
    CHECK(now.proofs >= 8);  // every T/4, but for the first
    CHECK(now.proof.count == now.proofs);
    CHECK(now.suspects == 0);
    REQUIRE(now.least_left);
    CHECK(*now.least_left > w.one.session_timeout() / 8);
    CHECK(*now.least_left < w.one.session_timeout());
  }

  TEST_CASE("an idle client has no proofs, and no least of a lease") {
    metered_world w;
    w.time.run_for(w.one.session_timeout() * 4);
    CHECK(w.counts().proofs == 0);
    CHECK(w.counts().least_left == std::nullopt);
  }

  TEST_CASE("an outage is counted: the suspect, the loss, the end of the session, and the new one") {
    metered_world w;
    w.take();
    CHECK(w.counts().sessions == 1);
    w.ensemble.expire(w.session(w.one));
    CHECK(w.eventually([&] { return w.counts().sessions == 2; }));
    const auto now = w.counts();
    CHECK(now.expirations == 1);
    CHECK(now.connections >= 2);
    REQUIRE(now.locks.size() == 1);
    const auto& lost = now.locks[0].lost;
    CHECK(lost[static_cast<std::size_t>(loss_reason::session_expired)] == 1);
    CHECK(now.locks[0].held == 0);
    CHECK(now.locks[0].hold.count == 1);
  }

  TEST_CASE("a proof that is overdue is counted once") {
    metered_world w;
    w.take();
    w.time.run_for(w.one.session_timeout() * 2);
    for (unsigned i = 0; i < w.ensemble.servers(); ++i) w.ensemble.cut_server(i, w.one.session_timeout());
    w.time.run_for(w.one.session_timeout());
    CHECK(w.counts().suspects == 1);
    CHECK(w.counts().locks[0].lost[static_cast<std::size_t>(loss_reason::deadline_passed)] == 1);
  }
}

}  // namespace latchkey::testing
