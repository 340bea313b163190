// SPDX-License-Identifier: Apache-2.0
/// The queue protocol in single, exact situations; random ones are in histories_test.cpp.

#include <doctest/doctest.h>

#include "log_lines.hpp"
#include "support/calm_world.hpp"

namespace latchkey::testing {
namespace {

using namespace std::chrono_literals;
using outcome = detail::waiter::outcome;

struct entry_world {
  simulation time;
  fake_ensemble ensemble{time};
  simulated_client one{ensemble};
  simulated_client two{ensemble};

  explicit entry_world(std::uint64_t seed = 1) : time{seed} {
    one.connect();
    two.connect();
  }

  std::shared_ptr<detail::waiter> enter(simulated_client& client, detail::cohort& cohort,
                                        detail::time_point until = detail::never) {
    return client.run([&] { return cohort.enter(1, until); });
  }
  bool ends(const std::shared_ptr<detail::waiter>& call, outcome how) {
    return time.run_until([&] { return call->what != outcome::waiting; }, time.now() + 1min) && call->what == how;
  }
  bool queued(std::size_t count) {
    return time.run_until([&] { return ensemble.children("/q").size() == count; }, time.now() + 1min);
  }
  std::string node(std::size_t index) { return "/q/" + ensemble.children("/q").at(index); }
};

}  // namespace

TEST_SUITE("entry") {
  TEST_CASE("the last number that is given to one child only is granted, and the next refused with what to do") {
    entry_world w;
    w.ensemble.create_container("/q");
    w.ensemble.set_counter("/q", 2147483646);
    const auto first = w.one.cohort("/q");
    const auto second = w.two.cohort("/q");
    CHECK(w.ends(w.enter(w.one, *first), outcome::granted));
    for (int i = 0; i < 3; ++i) {
      const auto refused = w.enter(w.two, *second);
      REQUIRE(w.ends(refused, outcome::failed));
      CHECK(refused->why->code == errc::queue_exhausted);
      CHECK(refused->why->path == "/q");
      CHECK(refused->why->what.find("delete the path") != std::string::npos);
    }
    CHECK(first->held());
    first->unlock();
    CHECK(w.queued(0));
    first->shut();
    second->shut();
  }

  TEST_CASE("a request that is stuck is freed by a sync long before the session times out") {
    entry_world w;
    const auto cohort = w.one.cohort("/q");
    w.one.connector().set_trap(detail::operation::create, trap::stuck);
    const auto start = w.time.now();
    CHECK(w.ends(w.enter(w.one, *cohort), outcome::granted));
    CHECK(w.time.now() - start < w.one.core()->options().session_timeout / 2);
    CHECK(w.one.connector().sent(detail::operation::sync) >= 1);
    cohort->shut();
  }

  TEST_CASE("a first proof that is stuck costs no grant, whatever else is sent shortly before") {
    for (int sixteenths = 0; sixteenths < 4; ++sixteenths) {
      entry_world w;
      w.ensemble.create("/other");
      const auto timeout = w.one.session_timeout();
      const auto cohort = w.one.cohort("/q");
      CHECK(w.ends(w.enter(w.one, *cohort), outcome::granted));
      const auto held = cohort->held();
      w.one.connector().set_trap(request_kind::check, trap::stuck);
      w.time.run_for(timeout * sixteenths / 16 + 1ms);
      w.one.run([&] {
        w.one.core()->session().submit({.kind = detail::operation::get, .path = "/other"}, [](detail::reply&) {});
      });
      w.time.run_for(timeout);
      CHECK(held);
      CHECK(w.one.connector().sent(detail::operation::sync) >= 1);
      cohort->unlock();
      cohort->shut();
    }
  }

  TEST_CASE("after a short wait, too, a first proof that is stuck costs no grant") {
    for (int part = 1; part <= 6; ++part) {
      entry_world w;
      const auto timeout = w.two.session_timeout();
      const auto first = w.one.cohort("/q");
      const auto second = w.two.cohort("/q");
      CHECK(w.ends(w.enter(w.one, *first), outcome::granted));
      const auto waits = w.enter(w.two, *second);
      w.time.run_for(timeout * part / 36);
      w.two.connector().set_trap(request_kind::check, trap::stuck);
      first->unlock();
      CHECK(w.ends(waits, outcome::granted));
      const auto held = second->held();
      w.time.run_for(timeout);
      CHECK_MESSAGE(held, "after T * " << part << " / 36");
      second->unlock();
      first->shut();
      second->shut();
    }
  }

  TEST_CASE("a process that has been stopped does not prove faster than others") {
    for (int twelfths = 1; twelfths < 12; ++twelfths) {
      CAPTURE(twelfths);
      entry_world w;
      const auto timeout = w.one.session_timeout();
      const auto cohort = w.one.cohort("/q");
      CHECK(w.ends(w.enter(w.one, *cohort), outcome::granted));
      w.time.run_for(2 * timeout);
      const auto stopped_for = timeout * twelfths / 12;
      w.time.pause(w.one.process(), w.time.now() + stopped_for);
      w.one.connector().forget_sent();
      w.time.run_for(stopped_for + timeout);
      CHECK(w.one.connector().sent(request_kind::check) <= 7);  // one of them as soon as it counts
      cohort->shut();
    }
  }

  TEST_CASE("an entry is never adopted from an earlier session (CURATOR-604)") {
    entry_world w;
    w.ensemble.create_container("/q");
    const auto cohort = w.one.cohort("/q");
    const auto old_session = w.one.run([&] { return w.one.core()->session().info().id; });
    w.one.connector().set_trap(detail::operation::create, trap::lost_after_effect);
    const auto call = w.enter(w.one, *cohort);
    REQUIRE(w.queued(1));  // it has had its effect; the reply is lost
    CHECK(w.ensemble.owner(w.node(0)) == old_session);
    w.ensemble.expire(old_session);
    REQUIRE(w.ends(call, outcome::granted));
    const auto new_session = w.one.run([&] { return w.one.core()->session().info().id; });
    CHECK(new_session != old_session);
    REQUIRE(w.queued(1));
    CHECK(w.ensemble.owner(w.node(0)) == new_session);
    CHECK(cohort->held().fence().czxid == w.ensemble.czxid(w.node(0)));
    cohort->shut();
  }

  TEST_CASE("a waiter whose predecessor has gone lists once if it was not the only one ahead") {
    for (const int others : {2, 1100}) {
      CAPTURE(others);
      entry_world w;
      w.ensemble.create_container("/q");
      const auto foreign = w.ensemble.foreign_session(1h);
      std::vector<std::string> ahead;
      const auto cohort = w.one.cohort("/q");
      for (int i = 0; i < others; ++i) {
        auto number = std::to_string(i);
        ahead.push_back("/q/other-lock-" + std::string(10 - number.size(), '0') + number);
        REQUIRE(w.ensemble.create(ahead.back(), {}, foreign) == detail::reply_code::ok);
      }
      w.ensemble.set_counter("/q", others);
      const auto call = w.enter(w.one, *cohort);
      REQUIRE(w.time.run_until([&] { return w.ensemble.watches() == 2; }, w.time.now() + 1min));  // and its own
      w.time.run_for(1s);  // it has looked ahead in vain
      w.one.connector().forget_sent();
      w.ensemble.remove(ahead.back());  // one in the middle, as it were: those before it stay
      REQUIRE(
          w.time.run_until([&] { return w.one.connector().sent(detail::operation::get) == 1; }, w.time.now() + 1min));
      w.time.run_for(100ms);
      CHECK(call->what == outcome::waiting);
      CHECK(w.one.connector().sent(detail::operation::children) == 1);
      CHECK(w.one.connector().sent() <= 2);
      cohort->shut();
      CHECK(w.queued(static_cast<std::size_t>(others) - 1));
    }
  }

  TEST_CASE(
      "a waiter that has waited long is proved to live before it is granted, one that has not is granted at once") {
    for (const auto waited : {100ms, 50'000ms}) {
      CAPTURE(waited.count());
      entry_world w;
      const auto holder = w.one.cohort("/q");
      const auto waiter = w.two.cohort("/q");
      REQUIRE(w.ends(w.enter(w.one, *holder), outcome::granted));
      const auto call = w.enter(w.two, *waiter);
      REQUIRE(w.queued(2));
      w.time.run_for(waited);
      // Of that which waits for longer than `report_waits_after`: whether the holder's node is there.
      CHECK(w.two.connector().sent(request_kind::check) == (waited > 1s ? 1 : 0));
      w.two.connector().forget_sent();
      holder->unlock();
      REQUIRE(w.ends(call, outcome::granted));
      CHECK(w.two.connector().sent(request_kind::check) == (waited > 1s ? 1 : 0));
      CHECK(w.two.connector().sent() == w.two.connector().sent(request_kind::check));
      holder->shut();
      waiter->shut();
    }
  }

  TEST_CASE("credentials that are no longer accepted end the grant, and every later call, with that reason") {
    entry_world w;
    const auto cohort = w.one.cohort("/q");
    REQUIRE(w.ends(w.enter(w.one, *cohort), outcome::granted));
    const auto before = cohort->held();
    w.ensemble.refuse_credentials(true);
    w.one.connector().latest()->lose_connection();
    REQUIRE(w.time.run_until([&] { return before.loss().has_value(); }, w.time.now() + 1min));
    CHECK(before.loss() == loss_reason::access_revoked);
    CHECK_FALSE(before);
    cohort->unlock();
    CHECK_THROWS_AS(w.enter(w.one, *cohort), error);
    cohort->shut();
    const auto begun = w.time.now();
    w.one.close();
    CHECK(w.time.run_until([&] { return w.one.closed(); }, begun + 1min));
    CHECK(w.time.now() - begun < 1s);  // nothing is left to delete
  }

  TEST_CASE("servers that demand authentication end the client at once, whatever it asks first") {
    for (const bool ready : {true, false}) {
      CAPTURE(ready);
      simulation time{1};
      fake_ensemble ensemble{time};
      ensemble.demand_authentication(true);
      const log_lines log{log_level::warning};
      client_options options;
      options.keep_lease_ready = ready;
      simulated_client one{ensemble, options};
      simulated_lock lock{one, "/q", {lock_family::fair}};
      const auto call = lock.enter(1, mode);
      REQUIRE(time.run_until([&] { return call->what != outcome::waiting; }, time.now() + 1s));
      REQUIRE(call->what == outcome::failed);
      CHECK(call->why->code == errc::authentication_failed);
      CHECK(call->why->what.find("ZSESSIONCLOSEDREQUIRESASLAUTH -124") != std::string::npos);
      CHECK_THROWS_AS(lock.enter(2, mode), error);
      const auto tried = one.connector().client()->sent;
      time.run_for(1min);
      CHECK(one.connector().client()->sent == tried);
      CHECK(log.all().size() == 1);
    }
  }

  TEST_CASE("so do those that demand it of a holder") {
    entry_world w;
    const auto cohort = w.one.cohort("/q");
    REQUIRE(w.ends(w.enter(w.one, *cohort), outcome::granted));
    const auto held = cohort->held();
    w.ensemble.demand_authentication(true);
    REQUIRE(w.time.run_until([&] { return held.loss().has_value(); }, w.time.now() + w.one.session_timeout() / 2));
    CHECK(held.loss() == loss_reason::access_revoked);
    cohort->unlock();
    CHECK_THROWS_AS(w.enter(w.one, *cohort), error);
    cohort->shut();
  }

  TEST_CASE("so do those of which it hears at the next connection, whose first request is the list of watches") {
    for (std::uint64_t seed = 1; seed <= 10; ++seed) {
      CAPTURE(seed);
      entry_world w{seed};
      const auto cohort = w.one.cohort("/q");
      REQUIRE(w.ends(w.enter(w.one, *cohort), outcome::granted));
      const auto held = cohort->held();
      w.time.run_for(1s);
      w.ensemble.demand_authentication(true);
      w.one.connector().latest()->lose_connection();
      REQUIRE(w.time.run_until([&] { return held.loss().has_value(); }, w.time.now() + w.one.session_timeout() / 2));
      CHECK(held.loss() == loss_reason::access_revoked);
      CHECK(w.one.run([&] { return w.one.core()->metrics().disconnections; }) < 25);
      cohort->unlock();
      CHECK_THROWS_AS(w.enter(w.one, *cohort), error);
      cohort->shut();
    }
  }

  TEST_CASE("a parent that is reaped as soon as it is there is created again") {
    entry_world w;
    const auto cohort = w.one.cohort("/q");
    const auto call = w.enter(w.one, *cohort);
    w.time.run_until([&] { return w.ensemble.exists("/q"); }, w.time.now() + 1min);
    w.ensemble.reap(true);
    CHECK(w.ends(call, outcome::granted));
    CHECK(w.queued(1));
    cohort->shut();
  }

  TEST_CASE("connections that end before a parent is created do not count as its deletion") {
    entry_world w;
    const auto cohort = w.one.cohort("/a/b/c/q");
    const auto& sent = w.one.connector();
    const auto call = w.enter(w.one, *cohort);
    for (int i = 0; i < 24 && call->what == outcome::waiting; ++i) {
      const auto before = sent.sent(detail::operation::create);
      // The create of the entry is answered; the parents, which are sent then, are lost.
      const auto create_is_sent = [&] { return sent.sent(detail::operation::create) > before; };
      REQUIRE(w.time.run_until(create_is_sent, w.time.now() + 1min));
      const auto parents_are_sent = [&] { return sent.sent(detail::operation::create) > before + 2; };
      REQUIRE(w.time.run_until(parents_are_sent, w.time.now() + 1min));
      w.one.connector().set_trap(detail::operation::create, trap::lost_before_effect);
      REQUIRE(w.time.run_until([&] { return !w.one.connected(); }, w.time.now() + 1min));
      REQUIRE(w.time.run_until([&] { return w.one.connected(); }, w.time.now() + 1min));
    }
    CHECK(w.ends(call, outcome::granted));
    cohort->shut();
  }

  TEST_CASE("a parent that cannot be created is an error that names it") {
    entry_world w;
    w.ensemble.forbid(detail::operation::create, "/");
    const auto cohort = w.one.cohort("/a/b/c");
    const auto call = w.enter(w.one, *cohort);
    REQUIRE(w.ends(call, outcome::failed));
    CHECK(call->why->code == errc::not_authorized);
    CHECK(call->why->what.find("/a is missing") != std::string::npos);
    cohort->shut();
  }
}

}  // namespace latchkey::testing
