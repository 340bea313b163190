// SPDX-License-Identifier: Apache-2.0
/// When a waiter looks ahead, and what that saves.

#include "queue/outlook.hpp"

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "support/operated_world.hpp"

namespace latchkey::testing {
namespace {

using namespace std::chrono_literals;
using detail::outlook;
using detail::pace;
using detail::time_point;

pace of(detail::duration time) {
  pace known;
  known.learn(time, 2);
  return known;
}

}  // namespace

TEST_SUITE("outlook") {
  TEST_CASE("the pace is a moving average of what one entry takes") {
    pace queue;
    CHECK_FALSE(queue.known());
    queue.learn(30ms, 6);
    CHECK(queue.mean() == 10ms);
    queue.learn(18ms, 2);
    CHECK(queue.mean() == 12ms);
    queue.learn(0ms, 2);
    CHECK(queue.mean() == 9ms);
  }

  TEST_CASE("it learns from what has gone between two lists, the head half done at first") {
    pace queue;
    outlook one;
    const time_point start{1h};
    one.listed(4, start, &queue);
    CHECK_FALSE(queue.known());
    one.listed(2, start + 20ms, &queue);
    CHECK(queue.mean() == 10ms);
    one.listed(2, start + 21ms, &queue);
    CHECK(queue.mean() == 10ms);
    one.listed(0, start + 35ms, &queue);
    CHECK(queue.mean() == 10ms);
    CHECK(one.ahead() == 0);
  }

  TEST_CASE("the look is sent so that its answer comes when the predecessor has become the head") {
    const time_point start{1h};
    pace none;
    const auto look = [&](std::uint32_t ahead, const pace& queue) {
      outlook one;
      one.listed(ahead, start, &none);
      return one.look_in(queue, start, 2ms);
    };
    CHECK_FALSE(look(0, of(5ms)));
    CHECK_FALSE(look(1, of(5ms)));
    CHECK(look(2, of(5ms)) == 3ms);
    CHECK(look(4, of(5ms)) == 13ms);
    CHECK(look(10, of(5ms)) == 35ms);  // to learn the pace of now
    CHECK(look(10, of(1ms)) == 7ms);   // so soon there is nothing to learn
    CHECK(look(2, of(1ms)) == 0ms);
    CHECK(look(8, none) == 10ms);
    CHECK_FALSE(look(9, none));
  }

  TEST_CASE("a wait has four looks at most, and hurries less and less") {
    const time_point start{1h};
    pace queue = of(5ms);
    outlook one;
    one.listed(2, start, &queue);
    auto now = start;
    std::vector<detail::duration> pauses;
    while (const auto pause = one.look_in(queue, now, 2ms)) {
      pauses.push_back(*pause);
      now += *pause + 2ms;
      one.looked();
      one.listed(2, now, &queue);
    }
    CHECK(pauses == std::vector<detail::duration>{3ms, 2500us, 4750us, 8125us});
  }

  TEST_CASE("who has seen that only the predecessor is ahead is let in by its deletion, without a list") {
    for (const auto family : families) {
      CAPTURE(to_string(family));
      operated_world w;
      w.ensemble.create_container("/q");
      const std::vector ahead{w.intrude("-lock-", 0), w.intrude("-lock-", 1)};
      w.ensemble.set_counter("/q", 2);
      simulated_lock lock{w.one, "/q", {family}};
      const auto call = lock.enter(1, mode);
      w.time.run_for(8ms);
      w.remove(ahead[0]);
      w.time.run_for(20ms);  // it has looked
      w.one.connector().forget_sent();
      w.remove(ahead[1]);
      REQUIRE(w.ends(call, outcome::granted));
      CHECK(w.one.connector().sent(operation::children) == 0);
      lock.leave(1, mode);
    }
  }

  TEST_CASE("who looks while several are ahead lists when its predecessor has gone") {
    operated_world w;
    w.ensemble.create_container("/q");
    const std::vector ahead{w.intrude("-lock-", 0), w.intrude("-lock-", 1)};
    w.ensemble.set_counter("/q", 2);
    simulated_lock lock{w.one, "/q", {lock_family::fair}};
    const auto call = lock.enter(1, mode);
    w.one.connector().forget_sent();
    w.time.run_for(1s);
    CHECK(w.one.connector().sent(operation::children) == outlook::most_looks);
    w.remove(ahead[1]);
    w.time.run_for(1s);
    CHECK(call->what == outcome::waiting);
    CHECK(w.one.connector().sent(operation::children) == 1 + outlook::most_looks);
    w.remove(ahead[0]);
    CHECK(w.ends(call, outcome::granted));
    lock.leave(1, mode);
  }

  TEST_CASE("nobody looks who is far behind at an unknown pace") {
    operated_world w;
    w.ensemble.create_container("/q");
    for (int i = 0; i < 20; ++i) (void)w.intrude("-lock-", i);
    w.ensemble.set_counter("/q", 20);
    simulated_lock lock{w.one, "/q", {lock_family::fair}};
    const auto call = lock.enter(1, mode);
    w.one.connector().forget_sent();
    w.time.run_for(10s);
    CHECK(w.one.connector().sent(operation::children) == 0);
    lock.leave(1, mode);
    CHECK(call->what == outcome::waiting);
  }
}

}  // namespace latchkey::testing
