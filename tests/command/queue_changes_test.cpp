// SPDX-License-Identifier: Apache-2.0
/// What `latchkey watch` makes of two looks at a queue.

#include <doctest/doctest.h>

#include <array>
#include <chrono>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include <latchkey/queue_view.hpp>

#include "queue_changes.hpp"

namespace command {
namespace {

using namespace std::chrono_literals;
using latchkey::contender;
using latchkey::queue_place;
using latchkey::queue_sighting;

const wall_time start{std::chrono::seconds{1'700'000'000}};

queue_place holding(std::string node) { return {std::move(node), contender::kind::lock, true}; }
queue_place waiting(std::string node) { return {std::move(node), contender::kind::lock, false}; }

queue_sighting of(std::vector<queue_place> places) { return {.known = true, .places = std::move(places)}; }

/// "+holds a 412"
std::vector<std::string> words(const std::vector<queue_change>& all) {
  std::vector<std::string> text;
  for (const auto& each : all) {
    constexpr std::array names{"there", "+waits", "+holds", "-waits", "-holds"};
    text.push_back(std::string{names[static_cast<std::size_t>(each.what)]} + " " + each.who.node +
                   (each.after ? " " + std::to_string(each.after->count()) : ""));
  }
  return text;
}

using lines = std::vector<std::string>;

}  // namespace

TEST_SUITE("queue changes") {
  TEST_CASE("first come those that are there, of whom it is not known since when") {
    queue_changes all;
    CHECK(words(all.next(of({holding("a"), waiting("b")}), start)) == lines{"there a", "there b"});
    CHECK(words(all.next(of({holding("b")}), start + 1s)) == lines{"-holds a", "+holds b"});
    CHECK(words(all.next(of({}), start + 3s)) == lines{"-holds b 2000"});
    CHECK(words(all.next(of({}), start + 4s)).empty());
  }

  TEST_CASE("a wait and a hold have their times") {
    queue_changes all;
    CHECK(words(all.next(of({}), start)).empty());
    CHECK(words(all.next(of({holding("a"), waiting("b"), waiting("c")}), start)) ==
          lines{"+holds a", "+waits b", "+waits c"});
    CHECK(words(all.next(of({holding("a"), waiting("c")}), start + 100ms)) == lines{"-waits b 100"});
    CHECK(words(all.next(of({holding("c"), waiting("d")}), start + 250ms)) ==
          lines{"-holds a 250", "+holds c 250", "+waits d"});
    CHECK(words(all.next(of({holding("d")}), start + 300ms)) == lines{"-holds c 50", "+holds d 50"});
  }

  TEST_CASE("strangers are those among the first who have come since") {
    queue_changes all;
    CHECK(all.has_strangers(of({holding("a")}), 100));
    CHECK_FALSE(all.has_strangers(of({holding("a")}), 0));
    all.next(of({holding("a")}), start);
    CHECK_FALSE(all.has_strangers(of({holding("a")}), 100));
    CHECK_FALSE(all.has_strangers(of({holding("a"), waiting("b")}), 1));
    CHECK(all.has_strangers(of({holding("a"), waiting("b")}), 2));
  }
}

}  // namespace command
