// SPDX-License-Identifier: Apache-2.0
/// Session timeouts that are out of the ordinary: changed at a reconnect, or short beside the tick of the servers.

#include <latchkey/mutex.hpp>

#include <string>
#include <system_error>
#include <utility>

#include <doctest/doctest.h>

#include "log_lines.hpp"
#include "support/overlap.hpp"
#include "support/support.hpp"

namespace latchkey::testing {
namespace {

constexpr const char* path = "/of/session/timeouts";

template <class Options>
Options with_tick(Options options, std::chrono::milliseconds tick) {
  if constexpr (requires { options.server_tick; }) options.server_tick = tick;
  return options;
}

/// A holder that another client waits for, on an ensemble of our own.
struct pair_of_clients {
  pair_of_clients(ensemble& all, client& first, client& second) : all_{all}, holder{first, path}, next{second, path} {}

  /// Takes the lock, and lets the other one wait for it.
  void begin() {
    REQUIRE(holder.try_lock_for(patience()));
    before = holder.held();
    waiting.start([this] {
      REQUIRE(next.try_lock_for(patience()));
      granted = boottime_clock::now();
      next.unlock();
    });
    REQUIRE(eventually([&] { return all_.children(path).size() == 2; }));
  }
  /// @returns by how much the grant has outlived the beginning of the next one.
  round finish(const watchman& eye, bool met_a_holder) {
    waiting.join();
    REQUIRE(eventually([&] { return eye.seen_lost(); }));
    holder.unlock();
    return {eye.last_held() - granted, met_a_holder};
  }

  ensemble& all_;
  mutex holder;
  mutex next;
  grant before;
  boottime_clock::time_point granted;
  on_threads waiting;
};

std::chrono::nanoseconds left_of(const grant& held) { return held.valid_until() - boottime_clock::now(); }

/// Server 0 grants long sessions, the others short ones.
void configure(ensemble& all) {
  all.configure(0, {"maxSessionTimeout=60000"});
  all.restart(0);
  (void)everybody_serves(all);
}

}  // namespace

TEST_SUITE("session timeout") {
  TEST_CASE("a session timeout that changes at a reconnect ends the grants, and the leases follow the new one") {
    ensemble all{{.max_session_timeout = 4s}};
    configure(all);
    proxy net{all.addresses()};
    net.cut(1);
    net.cut(2);
    client first{net.connect_string(), quick(12s)};
    client second{all.connect_string(1) + "," + all.connect_string(2), quick(4s)};
    REQUIRE(missing_connection(first) == "");
    REQUIRE(missing_connection(second) == "");
    REQUIRE(first.session_timeout() == 12s);
    const auto session = first.session_id();
    worst overlaps;

    pair_of_clients changed{all, first, second};
    changed.begin();
    const watchman eye{changed.before};
    REQUIRE(eventually([&] { return left_of(changed.before) > 6s; }));
    net.heal();
    all.kill(0);
    REQUIRE(eventually([&] { return first.session_timeout() == 4s; }));
    const bool same = first.session_id() == session;
    net.black_hole();
    CHECK(same);
    overlaps.add(changed.finish(eye, true));

    net.heal();
    REQUIRE(missing_connection(first) == "");
    REQUIRE(first.session_timeout() == 4s);
    pair_of_clients after{all, first, second};
    after.begin();
    const watchman other_eye{after.before};
    CHECK(left_of(after.before) < 4s);
    net.black_hole();
    overlaps.add(after.finish(other_eye, true));
    net.heal();
    overlaps.report("session timeout of 12 s changed to 4 s");
  }

  TEST_CASE("a session timeout that the ensemble lowers is logged once a session") {
    ensemble all{{.servers = 1, .max_session_timeout = 20s}};
    const log_lines warnings{log_level::warning};
    proxy net{all.addresses()};
    client owner{net.connect_string(), quick(40s)};
    const auto lines = [&] { return warnings.with("wanted_ms=40000 session_timeout_ms=20000").size(); };
    REQUIRE(missing_connection(owner) == "");
    CHECK(eventually([&] { return lines() == 1; }));
    const auto session = owner.session_id();
    net.cut(0);
    REQUIRE(eventually([&] { return !owner.connected(); }));
    net.heal();
    REQUIRE(missing_connection(owner) == "");
    REQUIRE(owner.session_id() == session);
    CHECK(lines() == 1);
    REQUIRE(all.expire(session));
    CHECK(eventually([&] { return lines() == 2; }));
  }

  TEST_CASE("a session timeout below the minimum is raised to it, also after a change of the servers' tick") {
    ensemble all{{.servers = 1, .tick = 500ms}};
    const log_lines warnings{log_level::warning};
    client owner{all.connect_string(), quick(600ms)};
    mutex lock{owner, path};
    REQUIRE(lock.try_lock_for(patience()));
    CHECK(owner.session_timeout() == 1s);
    lock.unlock();
    CHECK(warnings.with("wanted_ms=600 session_timeout_ms=1000").size() >= 1);
    all.configure(0, {"minSessionTimeout=3000"});
    all.restart(0);
    REQUIRE(eventually([&] { return owner.session_timeout() == 3s; }));
    REQUIRE(lock.try_lock_for(patience()));
    CHECK(eventually([&] { return left_of(lock.held()) > 1s; }));
    lock.unlock();
  }

  TEST_CASE("a session timeout below two ticks: refused if no lease can be kept with it, else without overlap") {
    ensemble all{{.tick = 2s, .min_session_timeout = 1s, .quorum_proxies = true}};
    std::string said;
    try {
      client refused{all.connect_string(), with_tick(quick(1s), 2s)};
      mutex lock{refused, path};
      (void)lock.try_lock_for(patience());
    } catch (const std::system_error& failure) {
      said = failure.what();
    }
    MESSAGE(said);
    CHECK(said.find("2667") != said.npos);  // the least that will do

    constexpr auto timeout = 3s;
    const auto overlaps = in_rounds([&](int i) {
      const auto roles = everybody_serves(all);
      const auto follower = roles.followers[static_cast<std::size_t>(i) % 2];
      proxy net{{all.address(follower)}};
      client first{net.connect_string(), with_tick(quick(timeout), 2s)};
      client second{all.connect_string(roles.leader), with_tick(quick(timeout), 2s)};
      pair_of_clients both{all, first, second};
      both.begin();
      const watchman eye{both.before};
      hold_for_a_while(2 * timeout);
      const bool met_a_holder{both.before};
      all.isolate(follower);
      if (i % 2 == 0) net.black_hole();
      const auto what = both.finish(eye, met_a_holder);
      net.heal();
      all.heal();
      all.wait_until_serving(follower, patience());
      return what;
    });
    overlaps.report("session timeout of 1.5 ticks");
  }
}

}  // namespace latchkey::testing
