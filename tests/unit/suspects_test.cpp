// SPDX-License-Identifier: Apache-2.0
#include "session/suspects.hpp"

#include <doctest/doctest.h>

namespace latchkey::detail {
namespace {

using namespace std::chrono_literals;

constexpr time_point start{1h};
constexpr request_shape large{1, 5000};
constexpr request_shape small{1, 100};

request create_at(std::string path, std::size_t data) {
  return {.kind = operation::create, .path = std::move(path), .data = std::string(data, 'x')};
}

}  // namespace

TEST_SUITE("suspects") {
  TEST_CASE("the same request has the same shape whatever the name of its node, and no other has it") {
    const auto shape = shape_of(create_at("/q/_c_0001-lock-", 10));
    CHECK(shape == shape_of(create_at("/q/_c_0002-lock-", 10)));
    CHECK_FALSE(shape == shape_of(create_at("/p/_c_0001-lock-", 10)));
    CHECK_FALSE(shape == shape_of(create_at("/q/_c_0001-lock-", 11)));
    auto other = create_at("/q/_c_0001-lock-", 10);
    other.kind = operation::set;
    CHECK_FALSE(shape == shape_of(other));
    request many{.kind = operation::transact,
                 .steps = {{.path = "/a"}, {.path = "/b", .data = std::string(1000, 'x')}}};
    CHECK(shape_of(many).bytes > 1000);
  }

  TEST_CASE("one lost connection is nobody's fault") {
    suspects all;
    all.blame(large, start);
    CHECK_FALSE(all.holds_any());
    CHECK(all.held_until(large) == time_point::min());
    all.acquit(large);
    CHECK(all.empty());
  }

  TEST_CASE("from the second on it is held back for ever longer, then it is refused, and tried again once a minute") {
    suspects all;
    auto now = start;
    unsigned connections = 0;
    duration last{};
    while (all.refused_after(large, now) == 0) {
      all.blame(large, now);
      if (++connections == 1) continue;
      REQUIRE(connections < 100);
      if (all.refused_after(large, now) != 0) break;
      const auto pause = all.held_until(large) - now;
      CHECK(pause >= last);
      last = pause;
      now += pause;
      CHECK(all.holds_any());
      CHECK(all.held_until(small) == time_point::min());
    }
    CHECK(connections == repetition::most_attempts + 1);
    CHECK(all.refused_after(large, now) == connections);
    CHECK_FALSE(all.holds_any());
    CHECK(now - start > 2s);
    now += suspects::refused_for;
    CHECK(all.refused_after(large, now) == 0);
    all.blame(large, now);
    CHECK(all.refused_after(large, now) == connections + 1);
    all.acquit(large);
    CHECK(all.empty());
  }

  TEST_CASE("an answer in between begins anew, and only so many are remembered") {
    suspects all;
    for (int i = 0; i < 100; ++i) {
      all.blame(large, start);
      all.acquit(large);
    }
    CHECK(all.empty());
    for (std::size_t i = 0; i < 1000; ++i) all.blame({i, i}, start);
    all.blame({999, 999}, start);
    CHECK(all.holds_any());
    all.blame({0, 0}, start);
    CHECK(all.held_until({0, 0}) == time_point::min());
  }
}

}  // namespace latchkey::detail
