// SPDX-License-Identifier: Apache-2.0
#include "session/request_queue.hpp"

#include <doctest/doctest.h>

#include <set>
#include <vector>

namespace latchkey::testing {
namespace {

using detail::urgency;

struct asked {
  int number = 0;
  urgency how{};
  const std::set<int>* stale = nullptr;

  bool is_stale() const { return stale != nullptr && stale->contains(number); }
};
using queue = detail::request_queue<asked>;

constexpr auto any = [](const asked&) { return true; };

/// Sends, or puts, `count` of them.
void ask(queue& of, urgency how, int count, int first = 0, const std::set<int>* stale = nullptr) {
  for (int i = first; i < first + count; ++i) {
    of.may_send(how) ? of.sent(how) : void(of.put(how, {i, how, stale}));
  }
}

/// Sends what may be sent.
std::vector<int> send_all(queue& of, urgency how) {
  std::vector<int> numbers;
  while (const auto next = of.take(any)) {
    CHECK(next->how == how);
    numbers.push_back(next->number);
    of.sent(how);
  }
  return numbers;
}

}  // namespace

TEST_SUITE("request queue") {
  TEST_CASE("proofs are sent at once, however many other requests wait") {
    queue of;
    ask(of, urgency::call, 10000);
    ask(of, urgency::background, 10000);
    CHECK(of.under_way() == queue::most_calls + queue::most_background);
    ask(of, urgency::proof, 2000);
    CHECK(of.under_way() == queue::most_calls + queue::most_background + 2000);
    CHECK(of.waiting() == 20000 - queue::most_calls - queue::most_background);
  }

  TEST_CASE("requests of one urgency are sent in their order, one for each that is answered") {
    for (const auto how : {urgency::call, urgency::background}) {
      queue of;
      const auto most = static_cast<int>(queue::most(how));
      ask(of, how, most + 3);
      CHECK_FALSE(of.may_send(how));
      CHECK_FALSE(of.take(any));
      of.answered(how);
      CHECK_FALSE(of.may_send(how));  // others wait
      CHECK(send_all(of, how) == std::vector{most});
      of.answered(how);
      of.answered(how);
      CHECK(send_all(of, how) == std::vector{most + 1, most + 2});
      CHECK_FALSE(of.may_send(how));
      of.answered(how);
      CHECK(of.may_send(how));
    }
  }

  TEST_CASE("neither calls nor what goes on in the background wait for one another") {
    queue of;
    ask(of, urgency::call, 10000);
    CHECK(of.may_send(urgency::background));
    ask(of, urgency::background, 1000);
    of.answered(urgency::background);
    CHECK(of.take(any)->how == urgency::background);
  }

  TEST_CASE("those behind a request that may not go wait for it, if they are of its urgency") {
    queue of;
    for (const auto how : {urgency::call, urgency::background}) {
      for (int i = 0; i < 3; ++i) of.put(how, {i, how, nullptr});
    }
    const auto but_one = [](const asked& each) { return each.how != urgency::call || each.number != 1; };
    std::vector<int> sent;
    while (const auto next = of.take(but_one)) sent.push_back(next->number);
    CHECK(sent == std::vector{0, 0, 1, 2});
    CHECK(of.waiting() == 2);
    CHECK(of.take(any)->number == 1);
  }

  TEST_CASE("stale requests take no more room than those that are wanted") {
    queue of;
    std::set<int> stale;
    ask(of, urgency::call, static_cast<int>(queue::most_calls));
    constexpr int wanted = 1000;
    ask(of, urgency::call, wanted, 0, &stale);
    std::size_t most = 0;
    std::size_t withdrawn = 0;
    for (int i = wanted; i < 100000; ++i) {
      withdrawn += of.put(urgency::call, {i, urgency::call, &stale}).size();
      stale.insert(i);
      most = std::max(most, of.waiting());
    }
    CHECK(most <= 2 * wanted + 2);
    CHECK(withdrawn + of.waiting() == 100000);
    std::vector<int> kept;
    for (auto& each : of.clear()) {
      if (!each.is_stale()) kept.push_back(each.number);
    }
    REQUIRE(kept.size() == wanted);
    CHECK(std::is_sorted(kept.begin(), kept.end()));
    CHECK(of.empty());
  }

  TEST_CASE("where none is wanted, a few hundred stale ones are kept at most") {
    queue of;
    std::set<int> stale;
    ask(of, urgency::background, static_cast<int>(queue::most_background));
    std::size_t most = 0;
    for (int i = 0; i < 10000; ++i) {
      of.put(urgency::background, {i, urgency::background, &stale});
      stale.insert(i);
      most = std::max(most, of.waiting());
    }
    CHECK(most <= queue::least_swept + 1);
  }
}
}  // namespace latchkey::testing
