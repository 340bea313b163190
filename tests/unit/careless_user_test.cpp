// SPDX-License-Identifier: Apache-2.0
/// A user who repeats, without waiting, whatever can be repeated: the lock that the client holds meanwhile is kept.

#include <doctest/doctest.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "queue/inquiry.hpp"
#include "recipes/election/leader_watch.hpp"
#include "recipes/sequencer/watched_nodes.hpp"
#include "support/calm_world.hpp"

namespace latchkey::testing {
namespace {

using namespace std::chrono_literals;

constexpr auto round_trip = 200ms;
constexpr int times_a_millisecond = 8;  // more requests than go through in that time

client_options of_four_seconds() {
  client_options options;
  options.session_timeout = 4s;
  return options;
}

/// A client that holds a lock, far from its ensemble.
struct careless_world {
  simulation time{1};
  fake_ensemble ensemble{time};
  simulated_client client{ensemble, of_four_seconds()};
  simulated_client other{ensemble, of_four_seconds()};
  simulated_lock held{client, "/held", {}};
  grant kept;
  std::size_t most_unanswered = 0;
  std::size_t most_owed = 0;

  careless_world() {
    client.connect();
    other.connect();
    const auto call = held.enter(1, contender_kind::lock);
    REQUIRE(time.run_until([&] { return call->what == outcome::granted; }, time.now() + 1min));
    kept = held.current(1, contender_kind::lock);
    ensemble.plan().network = {round_trip / 2, round_trip / 2};
    time.run_for(2s);
  }

  const std::shared_ptr<detail::client_core>& core() { return client.core(); }

  /// Somebody else has it.
  void taken(const std::string& path, lock_settings settings, contender_kind mode) {
    others.push_back(std::make_unique<simulated_lock>(other, path, settings));
    const auto call = others.back()->enter(1, mode);
    REQUIRE(time.run_until([&] { return call->what == outcome::granted; }, time.now() + 1min));
  }

  /// @returns whether the lock is still held after the habit has been given in to for longer than a lease lasts.
  bool survives(const std::function<void()>& habit) {
    const auto end = time.now() + client.session_timeout() * 5 / 4;
    while (time.now() < end && kept) {
      for (int i = 0; i < times_a_millisecond; ++i) habit();
      const auto numbers = client.run([&] { return client.core()->metrics(); });
      most_unanswered = std::max<std::size_t>(most_unanswered, numbers.unanswered);
      most_owed = std::max<std::size_t>(most_owed, numbers.deletions_owed);
      time.run_for(1ms);
    }
    return static_cast<bool>(kept);
  }

  /// @returns whether nothing is left but the lock.
  bool comes_to_rest() {
    ensemble.plan().network = {100us, 100us};
    others.clear();
    const bool idle =
        time.run_until([&] { return client.run([&] { return core()->session().idle() && core()->reaper().idle(); }); },
                       time.now() + 1min);
    return idle && static_cast<bool>(kept);
  }

  void check(const std::function<void()>& habit) {
    CHECK(survives(habit));
    CHECK(most_unanswered < 2000);
    CHECK(most_owed < 4000);
    CHECK(comes_to_rest());
  }

  /// Questions that are given up within a millisecond.
  void ask(const std::string& path, std::vector<detail::request> what) {
    client.run([&] { std::make_shared<detail::inquiry>(*core(), path, std::move(what))->start(time.now() + 1ms); });
  }

  std::vector<std::unique_ptr<simulated_lock>> others;
};

}  // namespace

TEST_SUITE("careless user") {
  TEST_CASE("views of an election that are made and destroyed, whether its path is there or not") {
    for (const bool there : {true, false}) {
      CAPTURE(there);
      careless_world w;
      if (there) w.taken("/q", {lock_family::election}, contender_kind::latch);
      w.check([&] {
        const auto view = std::make_shared<detail::leader_watch>(w.core(), "/q", [](const leader_sighting&) {});
        view->open();
        view->shut();
      });
    }
  }

  TEST_CASE("snapshots of a queue, questions about a sequencer and requests to release, with short timeouts") {
    careless_world w;
    w.taken("/q", {}, contender_kind::lock);
    const auto node = "/q/" + w.ensemble.children("/q").front();
    SUBCASE("snapshots") {
      w.check([&] { w.ask("/q", {detail::barrier("/q"), {.kind = operation::children, .path = "/q"}}); });
    }
    SUBCASE("questions") {
      w.check([&] { w.ask(node, {detail::question_about(node)}); });
    }
    SUBCASE("requests to release") {
      w.check([&] { w.ask("/q", {{.kind = operation::set, .path = node, .data = "?"}}); });
    }
  }

  TEST_CASE("questions to a cache of sequencers, with short timeouts and about many nodes") {
    careless_world w;
    const auto places = std::make_shared<detail::watched_nodes>(w.core());
    int number = 1'000'000'000;
    w.check([&] {
      const auto node = "/q/x-lock-" + std::to_string(++number);
      w.client.run([&] {
        const auto me = places->ask(node);
        places->leave(node, me);
      });
    });
    CHECK(places->size() == 0);
  }

  TEST_CASE("calls that are given up at once, of one object or of a new one each time") {
    struct habit {
      lock_family family;
      contender_kind mode;
      bool taken;
      bool anew;
    };
    for (const auto each : {habit{lock_family::turns, contender_kind::lock, true, false},
                            habit{lock_family::turns, contender_kind::lock, false, true},
                            habit{lock_family::fair, contender_kind::lock, true, false},
                            habit{lock_family::shared, contender_kind::read, false, false},
                            habit{lock_family::permits, contender_kind::permit, true, true},
                            habit{lock_family::permits, contender_kind::permit, false, false}}) {
      CAPTURE(to_string(each.family));
      CAPTURE(each.taken);
      CAPTURE(each.anew);
      careless_world w;
      const lock_settings settings{each.family};
      if (each.taken) w.taken("/q", settings, each.mode);
      auto lock = std::make_unique<simulated_lock>(w.client, "/q", settings);
      w.check([&] {
        if (each.anew) lock = std::make_unique<simulated_lock>(w.client, "/q", settings);
        lock->cancel(lock->enter(2, each.mode, w.time.now() + 1s), each.mode);
      });
    }
  }

  TEST_CASE("calls for several locks at once that are given up at once") {
    for (const auto family : {lock_family::group, lock_family::any}) {
      CAPTURE(to_string(family));
      careless_world w;
      lock_settings settings{family};
      settings.members = {{.path = "/q"}, {.path = "/r"}, {.path = "/s"}};
      simulated_lock lock{w.client, "/q", settings};
      w.check([&] {
        const auto call = lock.enter(2, contender_kind::lock, w.time.now() + 1s);
        lock.cancel(call, contender_kind::lock);
      });
    }
  }

  TEST_CASE("tickets that are dropped") {
    careless_world w;
    simulated_lock lock{w.client, "/q", {lock_family::fair}};
    w.check([&] {
      const auto place = lock.make_place();
      lock.queue(place, 2);
      place->cancel();
    });
  }
}
}  // namespace latchkey::testing
