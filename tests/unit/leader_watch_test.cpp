// SPDX-License-Identifier: Apache-2.0
/// Who follows an election, on the fake ensemble.

#include <doctest/doctest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "recipes/election/leader_watch.hpp"
#include "support/elected_world.hpp"

namespace latchkey::testing {
namespace {

using namespace std::chrono_literals;

/// What a client sees of the election, and what it has seen before.
class follower {
 public:
  explicit follower(simulated_client& of, std::string path = "/q")
      : client_{of},
        watch_{std::make_shared<detail::leader_watch>(of.core(), std::move(path),
                                                      [this](const leader_sighting& what) { seen_.push_back(what); })} {
    watch_->open();
  }
  ~follower() { watch_->shut(); }
  follower(const follower&) = delete;
  follower& operator=(const follower&) = delete;

  leader_sighting now() { return watch_->now(); }
  bool knows() { return now().known; }
  bool sees_nobody() { return now() == leader_sighting{.known = true}; }
  bool sees(const std::string& id, const grant& term) {
    return now() == leader_sighting{.known = true, .who = leader{id, term.fence()}};
  }
  /// @returns what the callback has been given so far.
  std::vector<leader_sighting> told() {
    const auto done = std::make_shared<detail::wait_point>();  // outlives its waiter: notify() may still be running
    client_.core()->post([done] { done->notify(); }, "a test");
    done->wait();
    return seen_;
  }

 private:
  simulated_client& client_;
  std::shared_ptr<detail::leader_watch> watch_;
  std::vector<leader_sighting> seen_;
};

/// Its client watches so many nodes with paths of 100 KB.
void watch_many(elected_world& w, simulated_client& who, int count) {
  const auto path = [](int i) { return "/" + std::string(100'000, 'x') + std::to_string(i); };
  for (int i = 0; i < count; ++i) w.ensemble.create(path(i));
  w.time.run_for(1s);
  who.run([&] {
    for (int i = 0; i < count; ++i) {
      who.core()->session().submit(
          {.kind = operation::get, .path = path(i)}, [](detail::reply&) {}, [](detail::watch_event) {});
    }
  });
  w.time.run_for(1s);
}
bool may_watch(simulated_client& who, detail::watch_room room) {
  return who.run([&] { return who.core()->session().may_watch("/q", room); });
}

}  // namespace

TEST_SUITE("leader watch") {
  TEST_CASE("a follower is told of each leader, and that nobody leads, once each") {
    elected_world w;
    follower sees{w.three};
    CHECK_FALSE(sees.knows());
    REQUIRE(w.eventually([&] { return sees.sees_nobody(); }));  // the path was missing
    const auto ann = w.elect(w.ann);
    REQUIRE(w.eventually([&] { return sees.sees("ann", ann); }));
    const auto waiting = w.ben.enter(1, election_mode);
    REQUIRE(w.queued(2));
    w.ann.leave(1, election_mode);
    REQUIRE(w.ends(waiting, outcome::granted));
    const auto ben = w.ben.current(1, election_mode);
    REQUIRE(w.eventually([&] { return sees.sees("ben", ben); }));
    w.ben.leave(1, election_mode);
    REQUIRE(w.eventually([&] { return sees.sees_nobody(); }));
    CHECK(sees.told() ==
          std::vector<leader_sighting>{
              {true, {}}, {true, leader{"ann", ann.fence()}}, {true, leader{"ben", ben.fence()}}, {true, {}}});
  }

  TEST_CASE("a container that has been reaped is watched again") {
    elected_world w;
    follower sees{w.three};
    w.elect(w.ann);
    w.ann.leave(1, election_mode);
    REQUIRE(w.queued(0));
    w.ensemble.reap();
    REQUIRE(w.eventually([&] { return sees.sees_nobody() && w.ensemble.exists("/q"); }));
    w.time.run_for(1s);
    const auto term = w.elect(w.ann);
    CHECK(w.eventually([&] { return sees.sees("ann", term); }));
    w.ann.leave(1, election_mode);
  }

  TEST_CASE("candidates that come and go cost a follower nothing, a new leader one list and one read") {
    elected_world w;
    const auto ann = w.elect(w.ann);
    const auto ben = w.ben.enter(1, election_mode);
    follower sees{w.three};
    REQUIRE(w.eventually([&] { return sees.sees("ann", ann); }));
    w.three.connector().forget_sent();
    const auto intruder = w.intrude("-latch-", 100);
    w.ensemble.remove(intruder);
    w.time.run_for(1s);
    CHECK(w.three.connector().sent() == 0);
    w.ann.leave(1, election_mode);
    REQUIRE(w.ends(ben, outcome::granted));
    REQUIRE(w.eventually([&] { return sees.sees("ben", w.ben.current(1, election_mode)); }));
    CHECK(w.three.connector().sent(operation::children) == 1);
    CHECK(w.three.connector().sent(operation::get) == 1);
    CHECK(w.three.run([&] { return w.three.core()->session().watched_paths().size(); }) == 1);
    w.ben.leave(1, election_mode);
  }

  TEST_CASE("a follower of a client that watches as much as it may looks now and then") {
    elected_world w;
    watch_many(w, w.three, 3);
    REQUIRE_FALSE(may_watch(w.three, detail::watch_room::spare));
    const auto ann = w.elect(w.ann);
    follower sees{w.three};
    CHECK(w.eventually([&] { return sees.sees("ann", ann); }));
    const auto ben = w.ben.enter(1, election_mode);
    w.ann.leave(1, election_mode);
    REQUIRE(w.ends(ben, outcome::granted));
    CHECK(w.eventually([&] { return sees.sees("ben", w.ben.current(1, election_mode)); }));
    w.ben.leave(1, election_mode);
  }

  TEST_CASE("so does a candidate that waits") {
    elected_world w;
    watch_many(w, w.two, 9);
    REQUIRE_FALSE(may_watch(w.two, detail::watch_room::needed));
    w.elect(w.ann);
    const auto ben = w.ben.enter(1, election_mode);
    REQUIRE(w.queued(2));
    w.ann.leave(1, election_mode);
    CHECK(w.ends(ben, outcome::granted));
    w.ben.leave(1, election_mode);
  }

  TEST_CASE("nothing is known while there is no connection, nor after the client has been closed") {
    elected_world w;
    follower sees{w.three};
    auto term = w.elect(w.ann);
    REQUIRE(w.eventually([&] { return sees.sees("ann", term); }));
    w.three.connector().cut();
    CHECK(w.eventually([&] { return !w.three.connected(); }));
    CHECK(sees.now() == leader_sighting{});
    w.ann.leave(1, election_mode);
    term = w.elect(w.ann);
    w.three.connector().heal();
    CHECK(w.eventually([&] { return sees.sees("ann", term); }));
    w.ensemble.expire(w.session(w.three));
    CHECK(w.eventually([&] { return !sees.knows(); }));
    CHECK(w.eventually([&] { return sees.sees("ann", term); }));
    w.three.close();
    CHECK_FALSE(sees.knows());
    w.ann.leave(1, election_mode);
  }

  TEST_CASE("what the leader's node says is followed, except that it has been asked to release") {
    elected_world w;
    const auto term = w.elect(w.ann);
    follower sees{w.three};
    REQUIRE(w.eventually([&] { return sees.sees("ann", term); }));
    w.ensemble.change(w.node(term), "10.0.0.7:9090");
    REQUIRE(w.eventually([&] { return sees.sees("10.0.0.7:9090", term); }));
    w.ensemble.change(w.node(term), std::string{detail::release_request});
    w.time.run_for(1s);
    CHECK(sees.sees("10.0.0.7:9090", term));
    follower late{w.two};
    CHECK(w.eventually([&] { return late.sees("", term); }));
    w.ann.leave(1, election_mode);
  }

  TEST_CASE("whoever may not read does not know, and looks again") {
    elected_world w;
    const auto term = w.elect(w.ann);
    w.ensemble.forbid(operation::get, w.node(term));
    follower sees{w.three};
    w.time.run_for(1s);
    CHECK_FALSE(sees.knows());
    w.ensemble.allow_everything();
    CHECK(w.eventually([&] { return sees.sees("ann", term); }));
    w.ann.leave(1, election_mode);
  }

  TEST_CASE("whoever may not create the path knows that nobody leads, and looks again") {
    elected_world w;
    w.ensemble.forbid(operation::create, "/q");
    follower sees{w.three};
    CHECK(w.eventually([&] { return sees.sees_nobody(); }));
    w.ensemble.allow_everything();
    const auto term = w.elect(w.ann);
    CHECK(w.eventually([&] { return sees.sees("ann", term); }));
    w.ann.leave(1, election_mode);
  }

  TEST_CASE("a request that is lost is sent again") {
    for (const auto kind : {operation::children, operation::get, operation::create}) {
      for (const auto what : {trap::lost_before_effect, trap::lost_after_effect, trap::stuck}) {
        elected_world w;
        w.three.connector().set_trap(kind, what);
        follower sees{w.three};
        if (kind != operation::get && what != trap::stuck) {
          REQUIRE(w.eventually([&] { return !w.three.connected(); }));
          CHECK(sees.told().empty());
        }
        const auto term = w.elect(w.ann);
        CHECK(w.eventually([&] { return sees.sees("ann", term); }));
        w.ann.leave(1, election_mode);
      }
    }
  }

  TEST_CASE("a follower that has ended is told nothing, and leaves no watch of its own") {
    elected_world w;
    w.elect(w.ann);
    const auto go_on = std::make_shared<detail::wait_point>();
    const auto done = std::make_shared<detail::wait_point>();
    w.three.core()->post([go_on] { go_on->wait(); }, "a test");
    std::vector<leader_sighting> told;
    const auto watch = std::make_shared<detail::leader_watch>(
        w.three.core(), "/q", [&](const leader_sighting& what) { told.push_back(what); });
    watch->open();
    REQUIRE(w.eventually([&] { return watch->now().known; }));
    watch->shut();
    w.ann.leave(1, election_mode);
    CHECK(w.queued(0));
    w.three.core()->post([done] { done->notify(); }, "a test");
    go_on->notify();
    done->wait();
    CHECK(told.empty());
    CHECK(w.three.unfinished() == "");
  }
}

}  // namespace latchkey::testing
