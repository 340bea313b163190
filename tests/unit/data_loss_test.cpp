// SPDX-License-Identifier: Apache-2.0
/// An ensemble that comes back without what its clients have seen.

#include <doctest/doctest.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <latchkey/fence_gate.hpp>

#include "log_lines.hpp"
#include "support/calm_world.hpp"

namespace latchkey::testing {
namespace {

using namespace std::chrono_literals;

/// A holder whose token a resource has seen, and many transactions.
struct old_world {
  simulation time;
  fake_ensemble ensemble{time};
  std::optional<simulated_client> owner;
  std::optional<simulated_lock> lock;
  fence_gate<std::string> gate;
  grant held;

  explicit old_world(bool goes_on, std::uint64_t seed = 1) : time{seed} {
    client_options options;
    options.go_on_after_data_loss = goes_on;
    owner.emplace(ensemble, options);
    REQUIRE(owner->connect());
    for (int i = 0; i < 50; ++i) ensemble.create("/old" + std::to_string(i));
    lock.emplace(*owner, "/q", lock_settings{lock_family::turns});
    REQUIRE(ends(lock->enter(1, mode), outcome::granted));
    held = lock->current(1, mode);
    REQUIRE(gate.admit("r", held.fence()));
    time.run_for(1s);
  }

  bool eventually(const std::function<bool()>& what) {
    return time.run_until(what, time.now() + std::chrono::minutes{1});
  }
  bool ends(const simulated_lock::call& call, outcome how) {
    return eventually([&] { return call->what != outcome::waiting; }) && call->what == how;
  }
};

bool text_names(const std::string& text, const std::string& words) { return text.find(words) != std::string::npos; }

}  // namespace

TEST_SUITE("data loss") {
  TEST_CASE("it ends the grants with that reason, and the client: no token is smaller than one before") {
    int in_time = 0;  // before the end of the lease
    for (std::uint64_t seed = 1; seed <= 20; ++seed) {
      CAPTURE(seed);
      const log_lines log{log_level::warning};
      old_world w{false, seed};
      const auto token = w.held.fence();
      w.ensemble.lose_data();
      REQUIRE(w.eventually([&] { return w.owner->run([&] { return w.owner->core()->failed().has_value(); }); }));
      CHECK_FALSE(w.held);
      in_time += w.held.loss() == loss_reason::data_lost ? 1 : 0;
      CHECK_THROWS_AS(w.lock->enter(2, mode), error);
      const auto why = w.owner->run([&] { return w.owner->core()->failed(); });
      REQUIRE(why);
      CHECK(why->code == errc::data_lost);
      CHECK(log.with("the client has failed").size() == 1);
      CHECK(log.with("the network").empty());
      w.lock->leave(1, mode);

      simulated_client next{w.ensemble};  // the process makes a new client
      REQUIRE(next.connect());
      simulated_lock again{next, "/q", {lock_family::turns}};
      REQUIRE(w.ends(again.enter(1, mode), outcome::granted));
      const auto fence = again.current(1, mode).fence();
      CHECK(fence < token);
      CHECK_FALSE(w.gate.admit("r", fence));  // until the operator has reset it
      again.leave(1, mode);
    }
    CHECK(in_time > 10);
  }

  TEST_CASE("a client that is told to go on begins a new session, whose tokens begin anew") {
    old_world w{true};
    const auto token = w.held.fence();
    w.ensemble.lose_data();
    REQUIRE(w.eventually([&] { return w.held.loss().has_value(); }));
    CHECK(w.held.loss() == loss_reason::data_lost);
    w.lock->leave(1, mode);
    REQUIRE(w.ends(w.lock->enter(2, mode), outcome::granted));
    CHECK(w.lock->current(2, mode).fence() < token);
    CHECK_FALSE(w.gate.admit("r", w.lock->current(2, mode).fence()));
    w.lock->leave(2, mode);
  }

  TEST_CASE("a call that waits fails with it, also if the handle does not say that its connection is lost") {
    for (const double unannounced : {0, 1}) {
      CAPTURE(unannounced);
      old_world w{false};
      const auto waiting = w.lock->enter(2, mode);
      w.ensemble.plan().unannounced = unannounced;
      w.ensemble.lose_data();
      REQUIRE(w.ends(waiting, outcome::failed));
      CHECK(waiting->why->code == errc::data_lost);
      CHECK_FALSE(text_names(waiting->why->what, "the network"));
      w.lock->leave(1, mode);
    }
  }

  TEST_CASE("servers that turn everyone away are not taken for that, however long they do") {
    for (std::uint64_t seed = 1; seed <= 20; ++seed) {
      CAPTURE(seed);
      old_world w{false, seed};
      auto* const session = w.owner->connector().latest();
      w.ensemble.elect(1min);
      w.time.run_for(1min);
      REQUIRE(w.eventually([&] { return w.owner->connected(); }));
      CHECK(session->connected());
      CHECK_FALSE(w.owner->run([&] { return w.owner->core()->failed(); }));
      w.lock->leave(1, mode);
    }
  }
}

}  // namespace latchkey::testing
