// SPDX-License-Identifier: Apache-2.0
/// Entries whose nodes one transaction creates: all of them, or none.

#include <doctest/doctest.h>

#include <array>
#include <memory>
#include <string>
#include <vector>

#include "queue/queue_entry.hpp"
#include "support/calm_world.hpp"

namespace latchkey::testing {
namespace {

using namespace std::chrono_literals;
using detail::patience;
using detail::queue_entry;

/// One of them, and what it has been told.
struct member final : detail::place_listener {
  explicit member(simulated_client& of, const std::string& path)
      : entry{std::make_shared<queue_entry>(of.core(), std::make_shared<const std::string>(path),
                                            detail::rule_of(contender_kind::lock), *this)} {}

  void on_granted() override { ++granted; }
  void on_refused() override { ++refused; }
  void on_suspect() override {}
  void on_lost(loss_reason) override { ++lost; }
  void on_failed(const detail::failure& why) override { failed = why.code; }
  bool over() const { return refused + lost > 0 || failed != errc{}; }

  std::shared_ptr<queue_entry> entry;
  int granted = 0;
  int refused = 0;
  int lost = 0;
  errc failed{};
};

struct together : calm_world {
  const std::array<std::string, 3> paths{"/a", "/b", "/c"};
  std::vector<std::unique_ptr<member>> members;

  explicit together(bool parents = true, std::uint64_t seed = 1) : calm_world{seed} {
    for (const auto& path : paths) {
      if (parents) ensemble.create_container(path);
      members.push_back(std::make_unique<member>(one, path));
    }
    one.connector().forget_sent();
  }

  std::vector<std::shared_ptr<queue_entry>> entries() const {
    std::vector<std::shared_ptr<queue_entry>> all;
    for (const auto& each : members) all.push_back(each->entry);
    return all;
  }
  void start(patience how = patience::wait) {
    one.run([&] { queue_entry::start_together(entries(), how); });
  }
  void leave() {
    one.run([&] { queue_entry::leave_together(entries()); });
  }
  std::vector<std::size_t> queues() {
    std::vector<std::size_t> sizes;
    for (const auto& path : paths) sizes.push_back(ensemble.children(path).size());
    return sizes;
  }
  bool granted() {
    return eventually([&] {
      return std::all_of(members.begin(), members.end(), [](const auto& each) { return each->granted > 0; });
    });
  }
  bool nothing_is_left() {
    return eventually([&] { return queues() == std::vector<std::size_t>{0, 0, 0} && one.unfinished().empty(); });
  }
  std::uint64_t sent(request_kind kind) { return one.connector().sent(kind); }
};

}  // namespace

TEST_SUITE("together") {
  TEST_CASE("free queues cost one transaction and a list each in one round trip, and one transaction to leave") {
    together w;
    w.start();
    CHECK(w.sent(request_kind::create_all) == 1);
    CHECK(w.sent(operation::children) == 3);
    REQUIRE(w.granted());
    CHECK(w.one.connector().sent() == 4);
    for (const auto& each : w.members) CHECK(each->entry->fence(0) == w.members.front()->entry->fence(0));
    CHECK(w.members.front()->entry->fence(0).czxid == w.ensemble.czxid("/a/" + w.ensemble.children("/a").front()));
    w.one.connector().forget_sent();
    w.leave();
    CHECK(w.sent(request_kind::remove_all) == 1);
    CHECK(w.nothing_is_left());
    CHECK(w.sent(operation::remove) == 0);
  }

  TEST_CASE("missing parents are created once, with the transaction behind them in the same round trip") {
    together w{false};
    w.ensemble.create_container("/a");
    w.start();
    REQUIRE(w.granted());
    CHECK(w.sent(request_kind::create_all) == 2);
    CHECK(w.sent(operation::create) == 2);  // of the first that is missing, and of those behind it
    w.leave();
    CHECK(w.nothing_is_left());
  }

  TEST_CASE("one that the ensemble refuses fails, and the others are refused: nothing is left anywhere") {
    together w;
    w.ensemble.forbid(operation::create, "/b");
    w.start();
    REQUIRE(w.eventually([&] { return w.members[2]->over(); }));
    CHECK(w.members[0]->refused == 1);
    CHECK(w.members[1]->failed == errc::not_authorized);
    CHECK(w.members[2]->refused == 1);
    CHECK(w.nothing_is_left());
    CHECK(w.sent(request_kind::remove_all) + w.sent(operation::remove) == 0);  // nothing was ever there
  }

  TEST_CASE("a parent that may not be created fails the one that needs it") {
    together w{false};
    w.ensemble.create_container("/a");
    w.ensemble.forbid(operation::create, "/");
    w.start();
    REQUIRE(w.eventually([&] { return w.members[2]->over(); }));
    CHECK(w.members[0]->refused == 1);
    CHECK(w.members[1]->failed == errc::not_authorized);
    CHECK(w.members[2]->refused == 1);
    CHECK(w.nothing_is_left());
  }

  TEST_CASE("a queue whose numbers are used up fails, and the others are refused") {
    together w;
    w.ensemble.set_counter("/c", 2147483647);
    w.start();
    REQUIRE(w.eventually([&] { return w.members[2]->over(); }));
    CHECK(w.members[2]->failed == errc::queue_exhausted);
    w.leave();
    CHECK(w.nothing_is_left());
  }

  TEST_CASE("when the answer is lost, all find their nodes or all are refused: none creates one by itself") {
    for (const auto fate : {trap::lost_before_effect, trap::lost_after_effect, trap::lost_then_late, trap::stuck}) {
      for (std::uint64_t seed = 1; seed <= 20; ++seed) {
        CAPTURE(static_cast<int>(fate));
        CAPTURE(seed);
        together w{true, seed};
        w.one.connector().set_trap(request_kind::create_all, fate);
        w.start();
        REQUIRE(w.eventually([&] {
          return std::all_of(w.members.begin(), w.members.end(),
                             [](const auto& each) { return each->granted > 0 || each->over(); });
        }));
        const auto granted =
            std::count_if(w.members.begin(), w.members.end(), [](const auto& each) { return each->granted > 0; });
        CHECK((granted == 0 || granted == 3));
        if (fate == trap::lost_before_effect) CHECK(granted == 0);
        if (fate == trap::lost_after_effect || fate == trap::stuck) CHECK(granted == 3);
        const auto there = static_cast<std::size_t>(granted / 3);
        CHECK(w.queues() == std::vector<std::size_t>{there, there, there});
        CHECK(w.sent(request_kind::create_all) == 1);
        CHECK(w.sent(operation::create) == 0);
        w.leave();
        CHECK(w.nothing_is_left());
      }
    }
  }

  TEST_CASE("a try gives up when the answer is lost, and leaves nothing") {
    for (const auto fate : {trap::lost_before_effect, trap::lost_after_effect, trap::lost_then_late}) {
      together w;
      w.one.connector().set_trap(request_kind::create_all, fate);
      w.start(patience::once);
      REQUIRE(w.eventually([&] {
        return std::all_of(w.members.begin(), w.members.end(), [](const auto& each) { return each->refused == 1; });
      }));
      CHECK(w.nothing_is_left());
    }
  }

  TEST_CASE("those that are left before the answer comes leave no node") {
    for (const bool lost : {false, true}) {
      together w;
      if (lost) w.one.connector().set_trap(request_kind::create_all, trap::lost_after_effect);
      w.start();
      w.leave();
      w.time.run_for(1ms);
      CHECK(w.nothing_is_left());
      for (const auto& each : w.members) CHECK(each->granted + each->refused == 0);
    }
  }

  TEST_CASE("one that waits, and whose node is deleted, is refused; the others stay in their queues") {
    together w;
    simulated_lock ahead{w.two, "/b", {lock_family::turns}};
    REQUIRE(w.ends(ahead.enter(1, contender_kind::lock), outcome::granted));
    w.start();
    REQUIRE(w.eventually([&] { return w.ensemble.children("/b").size() == 2 && w.members[2]->granted > 0; }));
    w.time.run_for(100ms);
    CHECK(w.members[1]->granted == 0);
    w.one.run([&] { CHECK(w.members[1]->entry->node().starts_with("/b/")); });
    w.ensemble.remove(w.members[1]->entry->node());
    REQUIRE(w.eventually([&] { return w.members[1]->refused == 1; }));
    CHECK(w.queues() == std::vector<std::size_t>{1, 1, 1});
    CHECK(w.sent(operation::create) == 0);
    w.leave();
    ahead.leave(1, contender_kind::lock);
    CHECK(w.nothing_is_left());
    ahead.shut();
  }

  TEST_CASE("those whose session ends are refused or lost, and create nothing in the next one") {
    together w;
    simulated_lock ahead{w.two, "/b", {lock_family::turns}};
    REQUIRE(w.ends(ahead.enter(1, contender_kind::lock), outcome::granted));
    w.start();
    REQUIRE(w.eventually([&] { return w.members[2]->granted > 0; }));
    w.ensemble.expire(w.session(w.one));
    REQUIRE(w.eventually([&] {
      return std::all_of(w.members.begin(), w.members.end(), [](const auto& each) { return each->over(); });
    }));
    CHECK(w.members[1]->refused == 1);
    CHECK(w.one.connect());
    CHECK(w.queues() == std::vector<std::size_t>{0, 1, 0});
    ahead.leave(1, contender_kind::lock);
    CHECK(w.nothing_is_left());
    ahead.shut();
  }
}

}  // namespace latchkey::testing
