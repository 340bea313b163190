// SPDX-License-Identifier: Apache-2.0
/// Permits of a semaphore: how many there are, in which order they are granted, and with which requests.

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "support/permit_world.hpp"

namespace latchkey::testing {
namespace {

using namespace std::chrono_literals;

/// Lists of the path itself, for a lock that is there by mistake.
constexpr int of_first_grant = 1;

}  // namespace

TEST_SUITE("permits") {
  TEST_CASE("as many hold as there are permits, the next one waits for the first that is given back") {
    for (const std::size_t leaves : {0, 1, 2}) {
      CAPTURE(leaves);
      permit_world w{3};
      std::vector<permit_world::call> held{w.take(w.ours), w.take(w.theirs), w.take(w.ours)};
      const auto next = w.theirs.enter();
      w.settle();
      CHECK(next.waits());
      (leaves == 1 ? w.theirs : w.ours).leave(held[leaves]);
      REQUIRE(w.ends(next, outcome::granted));
      w.settle();
      CHECK(w.leases().size() == 3);
      for (std::size_t i = 0; i < held.size(); ++i) {
        if (i != leaves) (i == 1 ? w.theirs : w.ours).leave(held[i]);
      }
      w.theirs.leave(next);
      CHECK(w.is_clean());
    }
  }

  TEST_CASE("the nodes have Curator's names, and the number is recorded at the path") {
    permit_world w;
    const auto held = w.take(w.ours);
    const auto node = w.lease(held);
    CHECK(node.starts_with("/s/leases/_c_"));
    CHECK(node.find("-lease-") != std::string::npos);
    CHECK(w.ensemble.data(node).find("\"permit\"") != std::string::npos);
    CHECK(w.record() == R"({"permits":2})");
    CHECK(held.held());
    CHECK(held.held().fence() == fencing_token{w.ensemble.czxid(node), 0});
    w.ours.leave(held);
    CHECK_FALSE(held.held());
    CHECK(w.is_clean());
  }

  TEST_CASE("several permits are taken together, in turn, or not at all") {
    permit_world w{3};
    const auto one = w.take(w.ours);
    const auto all = w.theirs.enter(3);
    w.settle();
    CHECK(all.waits());
    const auto late = w.ours.enter();  // there were two left for it
    w.settle();
    CHECK(late.waits());
    CHECK_FALSE(w.ends(w.ours.enter_once(), outcome::granted));
    w.ours.cancel(late);
    w.ours.leave(one);
    REQUIRE(w.ends(all, outcome::granted));
    CHECK(w.leases().size() == 3);
    w.theirs.leave(all);
    CHECK(w.is_clean());
  }

  TEST_CASE("a free permit costs one round trip: a create and two lists, and a deletion") {
    permit_world w;
    w.ours.leave(w.take(w.ours));
    w.settle();
    w.one.connector().forget_sent();
    const auto call = w.ours.enter();
    const auto at_once = w.one.connector().sent();
    REQUIRE(w.ends(call, outcome::granted));
    CHECK(w.one.connector().sent(operation::create) == 1);
    CHECK(w.one.connector().sent(operation::children) == 2);
    CHECK(at_once == 3);
    CHECK(w.one.connector().sent() == 3);  // nothing else was needed for the grant
    w.ours.leave(call);
    CHECK(w.one.connector().sent(operation::remove) == 1);
    CHECK(w.is_clean());
  }

  TEST_CASE("a try costs two lists if there is no permit, and writes nothing") {
    permit_world w{1};
    const auto held = w.take(w.theirs);
    w.ours.leave([&] {
      w.theirs.leave(held);
      return w.take(w.ours);
    }());
    const auto again = w.take(w.theirs);
    w.settle();
    w.one.connector().forget_sent();
    CHECK(w.ends(w.ours.enter_once(), outcome::refused));
    CHECK(w.one.connector().sent() == 2);
    CHECK(w.one.connector().sent(operation::children) == 2);
    w.theirs.leave(again);
    w.settle();
    const auto free = w.ours.enter_once();
    CHECK(w.ends(free, outcome::granted));
    w.ours.leave(free);
    CHECK(w.is_clean());
  }

  TEST_CASE("clients are served in the order in which they came; the first lists once for a release, no other does") {
    permit_world w{1};
    const auto held = w.take(w.ours);
    const auto next = w.theirs.enter();
    simulated_client third{w.ensemble};
    REQUIRE(third.connect());
    simulated_semaphore last{third, 1};
    w.settle();
    const auto behind = last.enter();
    w.settle();
    w.two.connector().forget_sent();
    third.connector().forget_sent();
    w.ours.leave(held);
    REQUIRE(w.ends(next, outcome::granted));
    CHECK(w.two.connector().sent(operation::children) == 1 + of_first_grant);
    CHECK(w.two.connector().sent(operation::create) == 0);
    w.settle();
    CHECK(behind.waits());
    third.connector().forget_sent();
    w.theirs.leave(next);
    REQUIRE(w.ends(behind, outcome::granted));
    CHECK(third.connector().sent(operation::children) == 1 + of_first_grant);
    last.leave(behind);
    CHECK(w.is_clean());
  }

  TEST_CASE("a lease that is made before the turn has come is given up at once, and holds nobody up") {
    permit_world w{1};
    w.ours.leave(w.take(w.ours));  // it believes that the permit is free
    w.settle();
    const auto held = w.take(w.theirs);
    const auto blocker = w.theirs.enter();
    simulated_client third{w.ensemble};
    REQUIRE(third.connect());
    simulated_semaphore first{third, 1};
    const auto ahead = first.enter();
    w.settle();
    const auto early = w.ours.enter();
    w.settle();
    CHECK(w.leases().size() == 2);  // the holder's, and that of the first who waits
    w.theirs.leave(held);
    w.settle();
    if (blocker.granted()) w.theirs.leave(blocker);
    REQUIRE(w.ends(ahead, outcome::granted));
    first.leave(ahead);
    REQUIRE(w.ends(early, outcome::granted));
    w.ours.leave(early);
    CHECK(w.is_clean());
  }

  TEST_CASE("a lease that is created later holds nobody up") {
    permit_world w{1};
    const auto held = w.take(w.ours);
    const auto next = w.theirs.enter();
    w.settle();
    REQUIRE(w.leases().size() == 2);
    w.ensemble.create("/s/leases/_c_0f-lease-0000000099", {}, w.ensemble.foreign_session(1h));
    w.ours.leave(held);
    REQUIRE(w.ends(next, outcome::granted));
    w.theirs.leave(next);
    w.ensemble.remove("/s/leases/_c_0f-lease-0000000099");
    CHECK(w.is_clean());
  }

  TEST_CASE("who waited and finds room creates its lease and deletes its turn in one transaction") {
    permit_world w{2};
    const auto first = w.take(w.ours);
    const auto second = w.take(w.ours);
    simulated_client third{w.ensemble};
    REQUIRE(third.connect());
    simulated_semaphore ahead{third, 2};
    const auto next = ahead.enter();
    w.settle();
    const auto behind = w.theirs.enter();
    w.settle();
    w.two.connector().forget_sent();
    w.ours.leave(first);
    w.ours.leave(second);
    REQUIRE(w.ends(behind, outcome::granted));
    CHECK(next.granted());
    CHECK(w.locks().empty());
    CHECK(w.two.connector().sent(operation::create) == 0);
    CHECK(w.two.connector().sent(operation::remove) == 0);
    CHECK(w.two.connector().sent(request_kind::requeue) == 1);
    CHECK(w.two.connector().sent(operation::children) == 2 + of_first_grant);
    ahead.leave(next);
    w.theirs.leave(behind);
    CHECK(w.is_clean());
  }

  TEST_CASE("who comes while another client waits does not overtake it, though the permit was free before") {
    permit_world w{2};
    w.ours.leave(w.take(w.ours));
    w.settle();
    const auto held = w.take(w.theirs);
    simulated_client third{w.ensemble};
    REQUIRE(third.connect());
    simulated_semaphore other{third, 2};
    const auto both = other.enter(2);
    w.settle();
    w.one.connector().forget_sent();
    const auto late = w.ours.enter();  // there is one left for it
    w.settle();
    CHECK(late.waits());
    CHECK(w.leases().size() == 3);
    CHECK(w.locks().size() == 2);
    w.theirs.leave(held);
    REQUIRE(w.ends(both, outcome::granted));
    CHECK(late.waits());
    other.leave(both);
    REQUIRE(w.ends(late, outcome::granted));
    w.ours.leave(late);
    CHECK(w.is_clean());
  }

  TEST_CASE("who comes while another has the turn waits for it, though there is room and the permit was free before") {
    permit_world w{2};
    w.ours.leave(w.take(w.ours));
    w.settle();
    const std::string turn = "/s/locks/_c_0f-lock-0000000001";
    w.ensemble.create(turn, {}, w.ensemble.foreign_session(1h));
    const auto late = w.ours.enter();
    w.settle();
    CHECK(late.waits());
    CHECK(w.leases().empty());
    CHECK(w.locks().size() == 2);
    w.ensemble.remove(turn);
    REQUIRE(w.ends(late, outcome::granted));
    w.ours.leave(late);
    CHECK(w.is_clean());
  }

  TEST_CASE("who had the turn is not overtaken, though it passes it on before the newcomer looks") {
    permit_world w{1};
    w.ours.leave(w.take(w.ours));
    w.settle();
    const std::string turn = "/s/locks/_c_0f-lock-0000000001";
    const auto another = w.ensemble.foreign_session(1h);
    w.ensemble.create(turn, {}, another);
    const auto late = w.ours.enter();
    REQUIRE(w.time.run_until([&] { return w.leases().size() == 1; }, w.time.now() + 1min));
    const auto number = *detail::rule_of(contender_kind::permit).number(w.leases().front()) + 1;
    const auto lease = fmt::format("/s/leases/_c_0f-lease-{:010}", number);
    w.ensemble.create(lease, {}, another);
    w.ensemble.remove(turn);
    w.settle();
    CHECK(late.waits());
    w.ensemble.remove(lease);
    REQUIRE(w.ends(late, outcome::granted));
    w.ours.leave(late);
    CHECK(w.is_clean());
  }

  TEST_CASE("any child of the leases counts, whoever has made it") {
    permit_world w{1};
    w.ours.leave(w.take(w.ours));
    w.settle();
    w.ensemble.create("/s/leases/somebody", {}, w.ensemble.foreign_session(1h));
    const auto call = w.ours.enter();
    w.settle();
    CHECK(call.waits());
    CHECK(w.ends(w.ours.enter_once(), outcome::refused));
    w.ensemble.remove("/s/leases/somebody");
    REQUIRE(w.ends(call, outcome::granted));
    w.ours.leave(call);
    CHECK(w.is_clean());
  }

  TEST_CASE("with one permit tokens grow from grant to grant") {
    permit_world w{1};
    fencing_token last{};
    for (int i = 0; i < 6; ++i) {
      auto& who = i % 2 == 0 ? w.ours : w.theirs;
      const auto call = w.take(who);
      CHECK(call.held().fence() > last);
      last = call.held().fence();
      who.leave(call);
    }
    CHECK(w.is_clean());
  }
}

}  // namespace latchkey::testing
