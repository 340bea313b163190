// SPDX-License-Identifier: Apache-2.0
/// Who follows a queue, on the fake ensemble.

#include <doctest/doctest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "recipes/queue_watch.hpp"
#include "support/calm_world.hpp"

namespace latchkey::testing {
namespace {

using namespace std::chrono_literals;

/// What a client sees of a queue, and what it has seen before.
class spectator {
 public:
  explicit spectator(simulated_client& of, std::string path = "/q")
      : client_{of},
        watch_{std::make_shared<detail::queue_watch>(of.core(), std::move(path),
                                                     [this](const queue_sighting& what) { seen_.push_back(what); })} {
    watch_->open();
  }
  ~spectator() { watch_->shut(); }
  spectator(const spectator&) = delete;
  spectator& operator=(const spectator&) = delete;

  queue_sighting now() { return watch_->now(); }
  bool knows() { return now().known; }
  /// @returns whether it sees this queue, and knows it.
  bool sees(const std::vector<std::string>& expected) {
    const auto seen = now();
    if (!seen.known) return false;
    std::vector<std::string> found;
    for (const auto& each : seen.places) found.push_back((each.holds ? "holds " : "waits ") + kind_of(each));
    return found == expected;
  }
  /// @returns what the callback has been given so far.
  std::vector<queue_sighting> told() {
    const auto done = std::make_shared<detail::wait_point>();  // outlives its waiter: notify() may still be running
    client_.core()->post([done] { done->notify(); }, "a test");
    done->wait();
    return seen_;
  }

 private:
  static std::string kind_of(const queue_place& place) { return std::string{to_string(place.what)}; }

  simulated_client& client_;
  std::shared_ptr<detail::queue_watch> watch_;
  std::vector<queue_sighting> seen_;
};

/// A third client looks at the queue of the two others.
struct watched_world : calm_world {
  simulated_client three{ensemble};
  simulated_lock ann{one, "/q", {.family = lock_family::shared}};
  simulated_lock ben{two, "/q", {.family = lock_family::shared}};

  watched_world() { three.connect(); }

  void take(simulated_lock& who, contender_kind kind) { REQUIRE(ends(who.enter(1, kind), outcome::granted)); }
};

using queue = std::vector<std::string>;

}  // namespace

TEST_SUITE("queue watch") {
  TEST_CASE("a spectator is told of each change of the queue, once each") {
    watched_world w;
    spectator sees{w.three};
    CHECK_FALSE(sees.knows());
    REQUIRE(w.eventually([&] { return sees.sees({}); }));  // the path was missing
    w.take(w.ann, contender_kind::write);
    REQUIRE(w.eventually([&] { return sees.sees({"holds write"}); }));
    const auto waiting = w.ben.enter(1, contender_kind::read);
    REQUIRE(w.eventually([&] { return sees.sees(queue{"holds write", "waits read"}); }));
    const auto node = sees.now().places.back().node;
    CHECK(w.ensemble.exists("/q/" + node));
    w.ann.leave(1, contender_kind::write);
    REQUIRE(w.ends(waiting, outcome::granted));
    REQUIRE(w.eventually([&] { return sees.sees({"holds read"}); }));
    CHECK(sees.now().places.front().node == node);
    w.ben.leave(1, contender_kind::read);
    REQUIRE(w.eventually([&] { return sees.sees({}); }));
    const auto told = sees.told();
    CHECK(told.size() == 5);
    CHECK(told.back() == queue_sighting{.known = true});
    CHECK(told.front() == told.back());
  }

  TEST_CASE("readers ahead of the first writer hold, and names that are none of a contender are left out") {
    watched_world w;
    w.take(w.ann, contender_kind::read);
    w.take(w.ben, contender_kind::read);
    w.intrude("-__WRIT__", 100);
    w.intrude("-__READ__", 101);
    w.intrude("-config-", 102);
    spectator sees{w.three};
    CHECK(w.eventually([&] { return sees.sees({"holds read", "holds read", "waits write", "waits read"}); }));
    w.ann.leave(1, contender_kind::read);
    w.ben.leave(1, contender_kind::read);
  }

  TEST_CASE("the permits of a semaphore are seen at its folder for them") {
    watched_world w;
    w.ensemble.create("/s");
    w.ensemble.create("/s/leases");
    w.ensemble.create("/s/leases/_c_1-lease-0000000001");
    w.ensemble.create("/s/leases/_c_2-lease-0000000002");
    spectator sees{w.three, "/s/leases"};
    REQUIRE(w.eventually([&] { return sees.sees({"holds permit", "holds permit"}); }));
    CHECK(sees.now().places.front().node == "_c_1-lease-0000000001");
  }

  TEST_CASE("a change costs one list, and there is one watch") {
    watched_world w;
    w.take(w.ann, contender_kind::write);
    spectator sees{w.three};
    REQUIRE(w.eventually([&] { return sees.sees({"holds write"}); }));
    w.three.connector().forget_sent();
    const auto intruder = w.intrude("-__WRIT__", 100);
    REQUIRE(w.eventually([&] { return sees.sees({"holds write", "waits write"}); }));
    CHECK(w.three.connector().sent(operation::children) == 1);
    CHECK(w.three.connector().sent(operation::get) == 0);
    CHECK(w.three.run([&] { return w.three.core()->session().watched_paths().size(); }) == 1);
    w.ann.leave(1, contender_kind::write);
  }

  TEST_CASE("a container that has been reaped is watched again") {
    watched_world w;
    spectator sees{w.three};
    w.take(w.ann, contender_kind::write);
    w.ann.leave(1, contender_kind::write);
    REQUIRE(w.queued(0));
    w.ensemble.reap();
    REQUIRE(w.eventually([&] { return sees.sees({}) && w.ensemble.exists("/q"); }));
    w.time.run_for(1s);
    w.take(w.ann, contender_kind::write);
    CHECK(w.eventually([&] { return sees.sees({"holds write"}); }));
    w.ann.leave(1, contender_kind::write);
  }

  TEST_CASE("nothing is known of a queue while there is no connection, nor after the client has been closed") {
    watched_world w;
    w.take(w.ann, contender_kind::write);
    spectator sees{w.three};
    REQUIRE(w.eventually([&] { return sees.sees({"holds write"}); }));
    w.three.connector().cut();
    CHECK(w.eventually([&] { return !w.three.connected(); }));
    CHECK(sees.now() == queue_sighting{});
    w.ann.leave(1, contender_kind::write);
    w.three.connector().heal();
    CHECK(w.eventually([&] { return sees.sees({}); }));
    w.ensemble.expire(w.session(w.three));
    CHECK(w.eventually([&] { return !sees.knows(); }));
    CHECK(w.eventually([&] { return sees.sees({}); }));
    w.three.close();
    CHECK_FALSE(sees.knows());
  }

  TEST_CASE("a spectator that may not list the path does not know the queue, and looks again") {
    watched_world w;
    w.take(w.ann, contender_kind::write);
    w.ensemble.forbid(operation::children, "/q");
    spectator sees{w.three};
    w.time.run_for(1s);
    CHECK_FALSE(sees.knows());
    w.ensemble.allow_everything();
    CHECK(w.eventually([&] { return sees.sees({"holds write"}); }));
    w.ann.leave(1, contender_kind::write);
  }

  TEST_CASE("a spectator that may not create the path knows that the queue is empty, and looks again") {
    watched_world w;
    w.ensemble.forbid(operation::create, "/q");
    spectator sees{w.three};
    CHECK(w.eventually([&] { return sees.sees({}); }));
    w.ensemble.allow_everything();
    w.take(w.ann, contender_kind::write);
    CHECK(w.eventually([&] { return sees.sees({"holds write"}); }));
    w.ann.leave(1, contender_kind::write);
  }

  TEST_CASE("a list that is lost is sent again") {
    for (const auto what : {trap::lost_before_effect, trap::lost_after_effect, trap::stuck}) {
      watched_world w;
      w.take(w.ann, contender_kind::write);
      w.three.connector().set_trap(operation::children, what);
      spectator sees{w.three};
      CHECK(w.eventually([&] { return sees.sees({"holds write"}); }));
      w.ann.leave(1, contender_kind::write);
    }
  }

  TEST_CASE("a spectator that has ended is told nothing, and leaves no watch") {
    watched_world w;
    w.take(w.ann, contender_kind::write);
    const auto go_on = std::make_shared<detail::wait_point>();
    const auto done = std::make_shared<detail::wait_point>();
    w.three.core()->post([go_on] { go_on->wait(); }, "a test");
    std::vector<queue_sighting> told;
    const auto watch = std::make_shared<detail::queue_watch>(w.three.core(), "/q",
                                                             [&](const queue_sighting& what) { told.push_back(what); });
    watch->open();
    REQUIRE(w.eventually([&] { return watch->now().known; }));
    watch->shut();
    w.ann.leave(1, contender_kind::write);
    CHECK(w.queued(0));
    w.three.core()->post([done] { done->notify(); }, "a test");
    go_on->notify();
    done->wait();
    CHECK(told.empty());
    CHECK(w.three.unfinished() == "");
  }
}

}  // namespace latchkey::testing
