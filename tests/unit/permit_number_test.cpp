// SPDX-License-Identifier: Apache-2.0
/// The number of permits: that all agree on it, and its changes.

#include <algorithm>
#include <cstdint>
#include <set>
#include <string>

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <latchkey/semaphore.hpp>

#include "support/permit_world.hpp"

namespace latchkey::testing {
namespace {

using namespace std::chrono_literals;

/// As `permit_line::resize`, which waits.
void resize(permit_world& w, std::uint32_t permits) {
  w.ensemble.change("/s", detail::permits_agreement.record(permits));
}

}  // namespace

TEST_SUITE("number of permits") {
  TEST_CASE("a record is read as it is written; other data is none") {
    CHECK(detail::permits_agreement.read(detail::permits_agreement.record(3)) == 3u);
    CHECK(detail::permits_agreement.read(detail::permits_agreement.record(4294967295)) == 4294967295u);
    for (const auto* other : {"", "3", R"({"permits":0})", R"({"permits":})", R"({"permits":3)", R"({"permits":-1})",
                              R"({"permits":4294967296})", R"({"permits":3,"a":1})", R"( {"permits":3})"}) {
      CAPTURE(other);
      CHECK_FALSE(detail::permits_agreement.read(other));
    }
  }

  TEST_CASE("a semaphore at the path of another recipe is told so") {
    permit_world w;
    w.ensemble.create("/s", detail::stripes_agreement.record(4));
    const auto call = w.ours.enter();
    REQUIRE(w.ends(call, outcome::failed));
    CHECK(call.failed_with(errc::contract_mismatch));
    CHECK(call.waiter->why->what.find("use one recipe for each path") != std::string::npos);
    CHECK(w.is_clean());
  }

  TEST_CASE("an object made for another number is refused, and leaves nothing") {
    permit_world w{2};
    const auto held = w.take(w.ours);
    simulated_semaphore other{w.two, 3};
    const auto call = other.enter();
    REQUIRE(w.ends(call, outcome::failed));
    CHECK(call.failed_with(errc::contract_mismatch));
    CHECK(call.waiter->why->what.find("change it for all with resize()") != std::string::npos);
    CHECK(call.waiter->why->path == "/s");
    CHECK(w.record() == detail::permits_agreement.record(2));
    w.settle();
    CHECK(w.leases().size() == 1);
    resize(w, 3);
    w.settle();
    const auto now = other.enter();
    REQUIRE(w.ends(now, outcome::granted));
    other.leave(now);
    w.ours.leave(held);
    CHECK(w.is_clean());
  }

  TEST_CASE("who asks through a server that lags behind a change of the number is not refused") {
    std::set<bool> leaders;
    for (std::uint64_t seed = 1; seed <= 10; ++seed) {
      CAPTURE(seed);
      permit_world w{2, {}, seed};
      leaders.insert(w.two.connector().latest()->server()->is_leader());
      w.ours.leave(w.take(w.ours));
      w.settle();
      for (unsigned i = 0; i < w.ensemble.servers(); ++i) w.ensemble.lag(i, {20ms, 30ms});
      resize(w, 3);
      simulated_semaphore other{w.two, 3};
      const auto call = other.enter();
      REQUIRE(w.ends(call, outcome::granted));
      other.leave(call);
      CHECK(w.is_clean());
    }
    CHECK(leaders.size() == 2);
  }

  TEST_CASE("a path with other data is refused, unless there is no contract") {
    permit_world w{1};
    w.ensemble.create("/s", "somebody's");
    const auto call = w.ours.enter();
    REQUIRE(w.ends(call, outcome::failed));
    CHECK(call.failed_with(errc::contract_mismatch));
    simulated_semaphore careless{w.one, 1, {}, false};
    const auto held = w.take(careless);
    w.settle();
    CHECK(w.record() == "somebody's");
    careless.leave(held);
    CHECK(w.is_clean());
  }

  TEST_CASE("two that find no record at the same moment agree on one, or one is refused") {
    for (std::uint64_t seed = 1; seed <= 200; ++seed) {
      CAPTURE(seed);
      permit_world w{2, {}, seed};
      simulated_semaphore other{w.two, 3};
      const auto a = w.ours.enter();
      w.time.run_for(seed * 50us);  // up to 10 ms: one reads before the other has written, and writes after it
      const auto b = other.enter();
      REQUIRE(w.eventually([&] { return !a.waits() && !b.waits(); }));
      CHECK(a.granted() != b.granted());
      CHECK((a.granted() ? b : a).failed_with(errc::contract_mismatch));
      CHECK(w.record() == detail::permits_agreement.record(a.granted() ? 2 : 3));
      a.granted() ? w.ours.leave(a) : other.leave(b);
      CHECK(w.is_clean());
    }
  }

  TEST_CASE("a smaller number binds the callers of one object, too, also an object that lingers") {
    permit_world w{2};
    const auto a = w.take(w.ours);
    const auto b = w.take(w.ours);
    const auto next = w.ours.enter();
    resize(w, 1);
    w.settle();
    w.ours.leave(a);
    w.settle();
    CHECK(next.waits());
    CHECK(w.leases().size() == 1);
    w.ours.leave(b);
    REQUIRE(w.ends(next, outcome::granted));
    w.ours.leave(next);
    CHECK(w.is_clean());

    permit_world lingers{2, {.linger = 1h}};
    const auto used = lingers.take(lingers.ours);
    const auto kept = lingers.take(lingers.ours);
    lingers.ours.leave(used);
    lingers.settle();
    CHECK(lingers.leases().size() == 2);
    resize(lingers, 1);
    lingers.settle();
    CHECK(lingers.leases().size() == 1);
    CHECK_FALSE(lingers.ends(lingers.ours.enter_once(), outcome::granted));
    lingers.ours.leave(kept);
    lingers.settle();
    CHECK(lingers.leases().empty());
  }

  TEST_CASE("more permits than a call can ask for are refused") {
    permit_world w{1000};
    CHECK_THROWS_AS(w.ours.enter(semaphore::most_at_once + 1), error);
    const auto most = w.take(w.ours, semaphore::most_at_once);
    w.ours.leave(most);
    CHECK(w.is_clean());
  }

  TEST_CASE("who waits first is granted a permit that a larger number makes") {
    permit_world w{1};
    const auto held = w.take(w.ours);
    const auto next = w.theirs.enter();
    w.settle();
    CHECK(next.waits());
    const auto local = w.ours.enter();
    resize(w, 3);
    CHECK(w.ends(next, outcome::granted));
    CHECK(w.ends(local, outcome::granted));
    CHECK(w.ours.line().permits() == 3);
    for (const auto& each : {held, local}) w.ours.leave(each);
    w.theirs.leave(next);
    CHECK(w.is_clean());
  }

  TEST_CASE("no holder loses a permit to a smaller number, and no caller is granted one before few enough are held") {
    permit_world w{3};
    std::vector<permit_world::call> held{w.take(w.ours), w.take(w.ours), w.take(w.ours)};
    resize(w, 1);
    const auto next = w.theirs.enter();
    for (const auto& each : held) {
      w.settle();
      CHECK(next.waits());
      CHECK(each.held());
      w.ours.leave(each);
    }
    REQUIRE(w.ends(next, outcome::granted));
    const auto too_many = w.theirs.enter();
    w.settle();
    CHECK(too_many.waits());
    w.theirs.leave(next);
    REQUIRE(w.ends(too_many, outcome::granted));
    w.theirs.leave(too_many);
    CHECK(w.is_clean());
  }

  TEST_CASE("a call for more permits than there are any more fails, and the next one is served") {
    permit_world w{3};
    const auto held = w.take(w.theirs);
    w.ours.leave(w.take(w.ours));
    const auto greedy = w.ours.enter(3);
    const auto modest = w.ours.enter(1);
    w.settle();
    resize(w, 2);
    REQUIRE(w.ends(greedy, outcome::failed));
    CHECK(greedy.failed_with(errc::bad_option));
    REQUIRE(w.ends(modest, outcome::granted));
    CHECK_THROWS_AS(w.ours.enter(3), error);
    CHECK_THROWS_AS(w.ours.enter(0), error);
    w.ours.leave(modest);
    w.theirs.leave(held);
    CHECK(w.is_clean());
  }

  TEST_CASE("a number below what many callers wait for fails all of them, without a call inside another for each") {
    permit_world w{2};
    const auto held = w.take(w.theirs, 2);
    std::vector<permit_world::call> greedy;
    for (int i = 0; i < 50'000; ++i) greedy.push_back(w.ours.enter(2));
    w.settle();
    resize(w, 1);
    REQUIRE(w.ends(greedy.back(), outcome::failed));
    CHECK(
        std::all_of(greedy.begin(), greedy.end(), [](const auto& each) { return each.failed_with(errc::bad_option); }));
    w.theirs.leave(held);
    CHECK(w.is_clean());
  }

  TEST_CASE("who has passed its turn on counts anew when the number has changed meanwhile") {
    for (const std::uint32_t in_the_end : {1, 2}) {
      CAPTURE(in_the_end);
      permit_world w{2};
      const auto first = w.take(w.ours);
      const auto second = w.take(w.ours);
      simulated_client third{w.ensemble};
      REQUIRE(third.connect());
      simulated_semaphore other{third, 2};
      const auto ahead = other.enter();
      w.settle();
      const auto late = w.theirs.enter();
      w.settle();
      w.ours.leave(first);
      w.ours.leave(second);
      REQUIRE(w.time.run_until([&] { return w.locks().empty() && w.leases().size() == 2; }, w.time.now() + 1min));
      REQUIRE(late.waits());
      // Before its answer arrives the number grows, another is let in by that, and it shrinks again.
      resize(w, 5);
      const auto number_of = [](const std::string& name) {
        return *detail::rule_of(contender_kind::permit).number(name);
      };
      const auto number = std::max(number_of(w.leases()[0]), number_of(w.leases()[1])) + 1;
      const auto lease = fmt::format("/s/leases/_c_0f-lease-{:010}", number);
      w.ensemble.create(lease, {}, w.ensemble.foreign_session(1h));
      resize(w, in_the_end);
      w.settle();
      CHECK(ahead.granted());
      CHECK(late.waits());
      other.leave(ahead);
      w.settle();
      CHECK(late.waits() == (in_the_end == 1));
      w.ensemble.remove(lease);
      REQUIRE(w.ends(late, outcome::granted));
      w.theirs.leave(late);
      CHECK(w.is_clean());
    }
  }

  TEST_CASE("the number is known to a client that has been away") {
    permit_world w{2};
    const auto held = w.take(w.theirs);
    w.ours.leave(w.take(w.ours));
    w.one.connector().cut();
    w.settle();
    resize(w, 1);
    w.one.connector().heal();
    const auto call = w.ours.enter();
    w.settle();
    CHECK(call.waits());
    w.theirs.leave(held);
    REQUIRE(w.ends(call, outcome::granted));
    w.ours.leave(call);
    CHECK(w.is_clean());
  }

  TEST_CASE("a path that has been deleted and made again has the number of its first user") {
    permit_world w{2};
    w.ours.leave(w.take(w.ours));
    w.settle();
    for (const auto* each : {"/s/leases", "/s/locks", "/s"}) w.ensemble.remove(each);
    w.settle();
    w.theirs.leave(w.take(w.theirs));
    CHECK(w.record() == detail::permits_agreement.record(2));
    const auto held = w.take(w.ours);
    w.ours.leave(held);
    CHECK(w.is_clean());
  }
}

}  // namespace latchkey::testing
