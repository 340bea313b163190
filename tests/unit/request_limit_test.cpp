// SPDX-License-Identifier: Apache-2.0
#include "session/request_limit.hpp"

#include <doctest/doctest.h>

namespace latchkey::detail {
namespace {

using namespace std::chrono_literals;

constexpr time_point start{1h};
constexpr std::size_t usual = 256 * 1024;
constexpr request_shape large{1, 5000};
constexpr request_shape larger{2, 6000};
constexpr request_shape small{1, 100};

request create_at(std::string path, std::size_t data) {
  return {.kind = operation::create, .path = std::move(path), .data = std::string(data, 'x')};
}

bool is_free(const request_limit& all, const request_shape& whom) {
  return all.held_until(whom) == time_point::min() && all.refused_after(whom, start) == 0;
}
bool awaits_the_servers(const request_limit& all, const request_shape& whom) {
  return all.held_until(whom) == time_point::max();
}

}  // namespace

TEST_SUITE("request limit") {
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
    CHECK(shape_of(other, 500).bytes == shape_of(other).bytes);
    const auto created = create_at("/q/_c_0001-lock-", 10);
    CHECK(shape_of(created, 500).bytes == shape.bytes + 500);
    request two{.kind = operation::transact,
                .steps = {{.what = step::operation::create, .path = "/a"},
                          {.what = step::operation::remove, .path = "/b"},
                          {.what = step::operation::create, .path = "/c"}}};
    CHECK(shape_of(two, 500).bytes == shape_of(two).bytes + 1000);
  }

  TEST_CASE(
      "a size that was never answered has the servers asked at once, and is held back with all that is as large") {
    request_limit all;
    all.answered(small);
    all.blame(large, start);
    CHECK(all.asked() == large.bytes);
    CHECK(awaits_the_servers(all, large));
    CHECK(awaits_the_servers(all, larger));
    CHECK(is_free(all, small));
    CHECK(all.most(usual) == large.bytes / 2);
  }

  TEST_CASE("what the servers refuse fails, whatever it is, until they are asked again") {
    request_limit all;
    all.answered({3, 5900});
    all.blame(larger, start);
    all.refused(larger.bytes, start, 3);
    CHECK(all.asked() == 0);  // near enough
    CHECK(all.refused_after(larger, start) == 4);
    CHECK(all.refused_after(large, start) == 0);
    CHECK(all.most(usual) == larger.bytes / 2);
    CHECK(is_free(all, large));
    const auto old = start + request_limit::learned_for;
    CHECK_FALSE(all.is_old(larger.bytes, old - 1ms));
    CHECK_FALSE(all.is_old(small.bytes, old));
    REQUIRE(all.is_old(larger.bytes, old));
    all.ask(all.bytes());
    CHECK_FALSE(all.is_old(larger.bytes, old));
    CHECK(awaits_the_servers(all, larger));
    all.taken(larger.bytes);
    CHECK(is_free(all, larger));
    CHECK(all.most(usual) == usual);
  }

  TEST_CASE("the servers are asked about smaller sizes until it is known to an eighth what they take") {
    for (const std::size_t limit : {100u, 700u, 5000u, 5999u}) {
      CAPTURE(limit);
      request_limit all;
      all.answered({3, 70});
      all.blame(larger, start);
      int questions = 0;
      while (all.asked() != 0) {
        REQUIRE(++questions < 12);
        if (all.bytes() != 0) CHECK(all.refused_after(larger, start) != 0);
        if (all.asked() > limit) {
          all.refused(all.asked(), start, 6);
        } else {
          all.taken(all.asked());
        }
      }
      CHECK(all.bytes() > limit);
      CHECK(all.bytes() <= limit + limit / 6);
      CHECK(is_free(all, {4, limit - limit / 8}));
    }
  }

  TEST_CASE("a size that was answered before is suspected from the second time in a row on") {
    request_limit all;
    all.answered(large);
    for (int i = 0; i < 100; ++i) {
      all.blame(large, start);
      CHECK(is_free(all, large));
      CHECK(all.most(usual) == usual);
      all.answered(large);
    }
    for (int i = 0; i < 2; ++i) all.blame(large, start);
    CHECK(awaits_the_servers(all, large));
  }

  TEST_CASE("a request that ends each connection, though the servers take the size, fails alone after ten") {
    request_limit all;
    auto now = start;
    duration last{};
    unsigned connections = 0;
    while (all.refused_after(large, now) == 0) {
      REQUIRE(connections < 100);
      all.blame(large, now);
      if (++connections % 2 == 0) {
        all.taken(large.bytes);
      } else {
        all.unknown();
      }
      all.answered(small);
      if (connections == 1 || all.refused_after(large, now) != 0) continue;
      CHECK(all.is_doubted());
      CHECK(is_free(all, small));
      const auto pause = all.held_until(large) - now;
      CHECK(pause >= last);
      last = pause;
      now += pause;
    }
    CHECK(connections == repetition::most_attempts + 1);
    CHECK(all.refused_after(large, now) == connections);
    CHECK(all.refused_after(larger, now) == 0);
    CHECK_FALSE(all.is_doubted());
    now += request_limit::learned_for;
    CHECK(all.refused_after(large, now) == 0);
    all.blame(large, now);
    CHECK(all.refused_after(large, now) == connections + 1);
    all.answered(large);
    CHECK(all.refused_after(large, now) == 0);
  }

  TEST_CASE("the smallest of several sizes is asked about") {
    request_limit all;
    all.blame(large, start);
    all.blame(larger, start);
    CHECK(all.asked() == large.bytes);
    all.blame({3, 4900}, start);
    CHECK(all.asked() == 4900);
    all.refused(large.bytes, start, 3);  // the answer to an earlier question
    CHECK(all.asked() == 4900);
    all.taken(4900);
    CHECK(all.asked() == 0);
    CHECK(all.refused_after(large, start) != 0);
    CHECK(all.refused_after({3, 4900}, start) == 0);
  }

  TEST_CASE("the smallest requests are never blamed") {
    request_limit all;
    for (int i = 0; i < 100; ++i) all.blame({1, request_limit::least - 1}, start);
    CHECK(all.asked() == 0);
    CHECK(is_free(all, {1, request_limit::least - 1}));
  }
}

}  // namespace latchkey::detail
