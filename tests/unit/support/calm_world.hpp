// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Two clients on a calm ensemble, for tests of exact situations.

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <string>
#include <utility>

#include "simulation/simulated_lock.hpp"

namespace latchkey::testing {

using outcome = detail::waiter::outcome;
using detail::contender_kind;
using detail::operation;

inline constexpr auto mode = contender_kind::lock;  // of the locks under test, unless a test says otherwise
inline constexpr auto families = {lock_family::turns, lock_family::fair, lock_family::shared};

/// Runs until nothing of these clients is under way: answers to come would keep them alive for ever.
inline void conclude(simulation& time, std::initializer_list<simulated_client*> clients) {
  for (auto* const each : clients) each->connector().heal();
  time.run_until(
      [&] {
        return std::all_of(clients.begin(), clients.end(), [](auto* each) { return each->unfinished().empty(); });
      },
      time.now() + std::chrono::minutes{1});
}

struct calm_world {
  simulation time;
  fake_ensemble ensemble{time};
  simulated_client one;
  simulated_client two;

  explicit calm_world(std::uint64_t seed = 1, client_options of_one = {}, client_options of_two = {})
      : time{seed}, one{ensemble, std::move(of_one)}, two{ensemble, std::move(of_two)} {
    one.connect();
    two.connect();
  }

  bool eventually(const std::function<bool()>& what) {
    return time.run_until(what, time.now() + std::chrono::minutes{1});
  }
  bool ends(const simulated_lock::call& call, outcome how) {
    return eventually([&] { return call->what != outcome::waiting; }) && call->what == how;
  }
  /// @returns whether in the end so many nodes are in the queue, and everybody knows.
  bool queued(std::size_t count) {
    const bool done = eventually([&] { return ensemble.children("/q").size() == count; });
    time.run_for(std::chrono::milliseconds{100});
    return done && ensemble.children("/q").size() == count;
  }
  std::string node(const grant& of) {
    for (const auto& name : ensemble.children("/q")) {
      if (ensemble.czxid("/q/" + name) == of.fence().czxid) return "/q/" + name;
    }
    return {};
  }
  /// No server but the leader hears of the end of `node`: all of them show it for ever.
  void lose_removal(const std::string& node) {
    for (unsigned i = 0; i < ensemble.servers(); ++i) ensemble.server(i).lose_removal(ensemble.paths().intern(node));
  }
  /// No server sends the event of the end of `node`.
  void lose_event(const std::string& node) {
    for (unsigned i = 0; i < ensemble.servers(); ++i) ensemble.server(i).lose_event(ensemble.paths().intern(node));
  }
  std::int64_t session(simulated_client& of) {
    return of.run([&] { return of.core()->session().info().id; });
  }
  /// Its process is stopped for so long that too little is left of the lease for another grant.
  /// @pre the client holds something
  void wear_out_lease(simulated_client& of) {
    time.run_for(of.session_timeout() * 2);
    const auto until =
        of.run([&] { return of.core()->lease_keeper().current_lease()->valid_until(); }) - of.session_timeout() / 8;
    time.pause(of.process(), until + std::chrono::milliseconds{1});
    time.run_until(until);
  }
  /// Somebody who is not ours, at the end of the queue.
  std::string intrude(const std::string& kind, std::int32_t number) {
    auto digits = std::to_string(number);
    auto path = "/q/other" + kind + std::string(10 - digits.size(), '0') + digits;
    ensemble.create(path, {}, ensemble.foreign_session(std::chrono::hours{1}));
    return path;
  }
};

}  // namespace latchkey::testing
