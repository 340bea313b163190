// SPDX-License-Identifier: Apache-2.0
/// Requests that are larger than the servers take: each ends the connection, and nothing says which one did.

#include <doctest/doctest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "log_lines.hpp"
#include "recipes/election/leader_watch.hpp"
#include "recipes/keyed/contract.hpp"
#include "support/holding_world.hpp"

namespace latchkey::testing {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t below_a_contender = 120;  // and above the rest
constexpr std::uint64_t few_connections = 2;    // of the session; the servers are asked on others

bool tells_of(const std::string& text, const std::string& words) { return text.find(words) != std::string::npos; }

std::uint64_t losses_of_connections(simulated_client& of) {
  return of.run([&] { return of.core()->metrics().disconnections; });
}

}  // namespace

TEST_SUITE("oversized requests") {
  TEST_CASE("a contender that the servers do not take fails its call with its size, and costs no other lock") {
    for (const auto family : families) {
      CAPTURE(to_string(family));
      const log_lines log;
      calm_world w;
      w.ensemble.create("/q");
      simulated_lock other{w.one, "/other", {lock_family::turns}};
      REQUIRE(w.ends(other.enter(1, mode), outcome::granted));
      const auto kept = other.current(1, mode);
      const auto kind = exclusive_kind_of(family);
      w.ensemble.limit_requests(below_a_contender);
      simulated_lock lock{w.one, "/q", {family}};
      const auto call = lock.enter(1, kind);
      REQUIRE(w.ends(call, outcome::failed));
      CHECK(call->why->code == errc::too_large);
      CHECK(tells_of(call->why->what, "jute.maxbuffer"));
      CHECK(tells_of(call->why->what, " bytes"));
      CHECK(losses_of_connections(w.one) <= few_connections);
      CHECK(log.with("jute.maxbuffer").size() == 1);
      const auto before = losses_of_connections(w.one);
      REQUIRE(w.ends(lock.enter(2, kind), outcome::failed));  // without another attempt
      CHECK(losses_of_connections(w.one) == before);
      CHECK(kept);
      w.ensemble.limit_requests(0);
      w.time.run_for(2min);
      CHECK(w.ends(lock.enter(3, kind), outcome::granted));
      lock.leave(3, kind);
      other.leave(1, mode);
    }
  }

  TEST_CASE("a view of a leader at a path that the servers do not take says so") {
    const log_lines log{log_level::warning};
    calm_world w;
    w.ensemble.limit_requests(1000);
    const auto view =
        std::make_shared<detail::leader_watch>(w.one.core(), "/" + std::string(1500, 'p'), [](const auto&) {});
    view->open();
    REQUIRE(w.eventually([&] { return !log.with("who leads cannot be read: a request of ").empty(); }));
    CHECK(tells_of(log.with("who leads").front(), "jute.maxbuffer"));
    view->shut();
  }

  TEST_CASE("contenders for many locks that the servers do not take fail together, and cost no other lock") {
    for (std::uint64_t seed = 1; seed <= 20; ++seed) {
      CAPTURE(seed);
      calm_world w{seed};
      client_options options;
      options.session_timeout = 1s;
      simulated_client quick{w.ensemble, options};
      REQUIRE(quick.connect());
      simulated_lock other{quick, "/other", {lock_family::turns}};
      REQUIRE(w.ends(other.enter(1, mode), outcome::granted));
      const auto kept = other.current(1, mode);
      w.ensemble.limit_requests(below_a_contender);
      std::vector<std::unique_ptr<simulated_lock>> locks;
      std::vector<simulated_lock::call> calls;
      for (int i = 0; i < 8; ++i) {
        const auto path = "/too-large" + std::to_string(i);
        w.ensemble.create(path);
        locks.push_back(std::make_unique<simulated_lock>(quick, path, lock_settings{lock_family::turns}));
        calls.push_back(locks.back()->enter(1, mode));
      }
      for (const auto& each : calls) {
        REQUIRE(w.ends(each, outcome::failed));
        CHECK(each->why->code == errc::too_large);
      }
      CHECK(losses_of_connections(quick) <= few_connections);
      CHECK(kept);
      w.ensemble.limit_requests(0);
      other.leave(1, mode);
      conclude(w.time, {&quick});
    }
  }

  TEST_CASE("a transaction that the servers do not take fails, and the lock stays") {
    holding w;
    w.ensemble.limit_requests(4000);
    detail::fenced_steps large{.steps = {create("/marker"), create("/made")}, .marked = true};
    large.steps.back().data = std::string(5000, 'x');
    const auto begun = w.begin(std::move(large), 10min);
    REQUIRE(w.eventually([&] { return begun->failed() || begun->result(); }));
    REQUIRE(begun->failed());
    CHECK(begun->failed()->code == errc::too_large);
    CHECK(tells_of(begun->failed()->what, "jute.maxbuffer"));
    CHECK(losses_of_connections(w.one) <= few_connections);
    CHECK(w.lock.current(1, w.mode));
  }

  TEST_CASE("a contender that was not taken is owed nothing, though its folder is too long to be listed") {
    calm_world w;
    const auto path = "/" + std::string(300, 'p');
    w.ensemble.create(path);
    w.ensemble.limit_requests(250);
    simulated_lock lock{w.one, path, {lock_family::turns}};
    const auto call = lock.enter(1, mode);
    REQUIRE(w.ends(call, outcome::failed));
    CHECK(call->why->code == errc::too_large);
    CHECK(w.eventually([&] { return w.one.run([&] { return w.one.core()->reaper().owed() == 0; }); }));
  }

  TEST_CASE("a deletion that no call waits for is given up for a while") {
    calm_world w;
    w.ensemble.create("/q");
    simulated_lock lock{w.one, "/q", {lock_family::turns}};
    REQUIRE(w.ends(lock.enter(1, mode), outcome::granted));
    w.ensemble.limit_requests(80);
    lock.leave(1, mode);
    w.time.run_for(10min);
    CHECK(losses_of_connections(w.one) <= few_connections + 10);
    CHECK(w.ensemble.children("/q").size() == 1);
    w.ensemble.limit_requests(0);
    w.time.run_for(2min);
    w.one.connector().latest()->lose_connection();
    CHECK(w.queued(0));
  }

  TEST_CASE("a request that ends each connection, though the servers take its size, is told in the log") {
    const log_lines log;
    calm_world w;
    w.ensemble.create("/q");
    simulated_lock lock{w.one, "/q", {lock_family::turns}};
    REQUIRE(w.ends(lock.enter(1, mode), outcome::granted));
    for (int i = 0; i < 11; ++i) w.one.connector().set_trap(operation::remove, trap::lost_before_effect);
    lock.leave(1, mode);  // no call waits for the deletion
    w.time.run_for(30s);
    const auto told = log.with("a request is not sent any more");
    REQUIRE(told.size() == 1);
    CHECK(tells_of(told.front(), "/q/_c_"));
    CHECK(tells_of(told.front(), "connections=11"));
    CHECK(w.queued(1));
    w.time.run_for(1min);
    w.one.connector().latest()->lose_connection();
    CHECK(w.queued(0));
    CHECK(log.all().size() == 1);
  }

  TEST_CASE("and by the error of its call, which does not speak of its size") {
    calm_world w;
    w.ensemble.create("/q");
    simulated_lock lock{w.one, "/q", {lock_family::turns}};
    for (int i = 0; i < 11; ++i) w.one.connector().set_trap(operation::create, trap::lost_before_effect);
    const auto call = lock.enter(1, mode);
    REQUIRE(w.ends(call, outcome::failed));
    CHECK(call->why->code == errc::too_large);
    CHECK(tells_of(call->why->what, "11 connections"));
    CHECK_FALSE(tells_of(call->why->what, "jute.maxbuffer"));
  }

  TEST_CASE("many locks are held and released though the servers take few nodes at once") {
    for (std::uint64_t seed = 1; seed <= 10; ++seed) {
      CAPTURE(seed);
      calm_world w{seed};
      w.ensemble.limit_requests(6000);  // the list of watches fits, a proof of all does not
      constexpr int count = 80;
      std::vector<std::unique_ptr<simulated_lock>> locks;
      std::vector<grant> held;
      for (int i = 0; i < count; ++i) {
        const auto path = "/many" + std::to_string(i);
        w.ensemble.create(path);
        locks.push_back(std::make_unique<simulated_lock>(w.one, path, lock_settings{lock_family::turns}));
        REQUIRE(w.ends(locks.back()->enter(1, mode), outcome::granted));
        held.push_back(locks.back()->current(1, mode));
      }
      w.time.run_for(1min);
      for (const auto& each : held) CHECK(each);
      const auto before = losses_of_connections(w.one);
      w.time.run_for(1min);
      for (const auto& each : held) CHECK(each);
      CHECK(losses_of_connections(w.one) == before);
      for (const auto& each : locks) each->leave(1, mode);
      CHECK(w.eventually([&] { return w.one.run([&] { return w.one.core()->reaper().owed() == 0; }); }));
    }
  }

  TEST_CASE("connections that end now and then are nobody's fault") {
    calm_world w;
    w.ensemble.create("/q");
    simulated_lock lock{w.one, "/q", {lock_family::turns}};
    for (int i = 0; i < 40; ++i) {
      w.one.connector().set_trap(operation::create, i % 2 == 0 ? trap::lost_before_effect : trap::lost_after_effect);
      const auto call = lock.enter(1, mode);
      REQUIRE(w.ends(call, outcome::granted));
      lock.leave(1, mode);
      REQUIRE(w.queued(0));
    }
  }

  TEST_CASE("a list of watches that is too large is not blamed on a call, and the next one is shorter") {
    const log_lines log;
    calm_world w;
    w.ensemble.create("/q");
    simulated_lock theirs{w.two, "/q", {lock_family::turns}};
    REQUIRE(w.ends(theirs.enter(1, mode), outcome::granted));
    simulated_lock ours{w.one, "/q", {lock_family::turns}};
    const auto call = ours.enter(1, mode);
    REQUIRE(w.queued(2));
    for (int i = 0; i < 100; ++i) {
      const auto path = "/watched" + std::to_string(i) + std::string(100, 'x');
      w.ensemble.create(path);
      w.time.run_for(2ms);
      w.one.run([&] {
        w.one.core()->session().submit(
            {.kind = operation::get, .path = path}, [](detail::reply&) {}, [](detail::watch_event) {});
      });
    }
    w.time.run_for(1s);
    w.ensemble.limit_requests(8000);  // a contender passes
    const auto before = w.session(w.one);
    w.one.connector().latest()->lose_connection();
    w.time.run_for(w.one.session_timeout() / 2);
    CHECK(w.session(w.one) != before);
    CHECK(losses_of_connections(w.one) <= 90);
    CHECK(log.with("the list of its watches").size() == 1);
    w.time.run_for(1min);
    CHECK(call->what == outcome::waiting);
    CHECK(w.one.run([&] { return !w.one.core()->session().may_watch("/" + std::string(7000, 'x')); }));
    w.ensemble.limit_requests(0);
    theirs.leave(1, mode);
    CHECK(w.ends(call, outcome::granted));
    ours.leave(1, mode);
  }
}

}  // namespace latchkey::testing
