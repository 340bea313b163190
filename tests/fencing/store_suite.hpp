// SPDX-License-Identifier: Apache-2.0
#pragma once

/// What every fenced store does, and what goes wrong without the pattern. The including file defines LATCHKEY_STORES.
///
/// A store is a type whose objects each have an item of their own, with the value "". `connect()` gives a connection:
///   read(token)           seals the item and reads it; nothing if it was refused
///   write(token, value)   whether it was written
///   peek()                reads the item, with no token
///   largest()             the largest token that the item has seen, as text
///   overwrite(value)      writes the item, with no token

#include <algorithm>
#include <future>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "tokens.hpp"

namespace latchkey::testing {

TEST_SUITE("stores") {
  TEST_CASE_TEMPLATE("a paused holder overwrites what its successor wrote: with a token it is refused", store,
                     LATCHKEY_STORES) {
    for (const bool fenced : {false, true}) {
      CAPTURE(fenced);
      store items;
      auto paused = items.connect();
      auto next = items.connect();
      const auto seen = fenced ? paused.read(older).value() : paused.peek();
      const auto seen_by_next = fenced ? next.read(newer).value() : next.peek();
      if (fenced) {
        CHECK(next.write(newer, seen_by_next + "next "));
        CHECK_FALSE(paused.write(older, seen + "paused "));
      } else {
        next.overwrite(seen_by_next + "next ");
        paused.overwrite(seen + "paused ");
      }
      CHECK(next.peek() == (fenced ? "next " : "paused "));
    }
  }

  TEST_CASE_TEMPLATE("a holder that reads without a seal loses the delayed write of the former one", store,
                     LATCHKEY_STORES) {
    for (const bool seals : {false, true}) {
      CAPTURE(seals);
      store items;
      auto paused = items.connect();
      auto next = items.connect();
      const auto seen = paused.read(older).value();
      const auto seen_by_next = seals ? next.read(newer).value() : next.peek();
      const bool told_written = paused.write(older, seen + "paused ");
      CHECK(next.write(newer, seen_by_next + "next "));
      CHECK(told_written == !seals);
      CHECK(next.peek() == "next ");  // without the seal: it lacks a write that was reported as done
    }
  }

  TEST_CASE_TEMPLATE("a check apart from the write comes too early", store, LATCHKEY_STORES) {
    for (const bool apart : {true, false}) {
      CAPTURE(apart);
      store items;
      auto paused = items.connect();
      auto next = items.connect();
      CHECK(paused.read(older));
      const bool looked_fine = paused.largest() <= to_string(older);
      CHECK(looked_fine);
      CHECK(next.write(newer, "next"));
      if (apart) {
        paused.overwrite("paused");
      } else {
        CHECK_FALSE(paused.write(older, "paused"));
      }
      CHECK(next.peek() == (apart ? "paused" : "next"));
    }
  }

  TEST_CASE_TEMPLATE("equal tokens pass, smaller ones do not, also if they arrive in reverse", store, LATCHKEY_STORES) {
    store items;
    auto holder = items.connect();
    CHECK(holder.write(newer, "first"));
    CHECK(holder.write(newer, "second"));
    CHECK(holder.read(newer) == "second");
    auto former = items.connect();
    CHECK_FALSE(former.read(older));
    CHECK_FALSE(former.write(older, "late"));
    CHECK(holder.largest() == to_string(newer));
    CHECK(holder.peek() == "second");
  }

  TEST_CASE_TEMPLATE("tokens are compared in all digits, and in the order of their bytes", store, LATCHKEY_STORES) {
    const std::vector<fencing_token> rising{
        {9, 0},     {10, 0},    {16, 1},       {16, 2},        {16, 0x100000},    {16, 0x1000000},
        {0xaa0, 0}, {0xb00, 0}, {0xa00000, 0}, {0x1000000, 0}, {0x1000000000, 0}, {0x7fffffffffff0000, 7}};
    store items;
    auto holder = items.connect();
    for (auto token = rising.begin(); token != rising.end(); ++token) {
      CAPTURE(to_string(*token));
      CHECK(holder.write(*token, "value"));
      if (token == rising.begin()) continue;
      CAPTURE(to_string(*(token - 1)));
      CHECK_FALSE(holder.write(*(token - 1), "late"));
    }
  }

  TEST_CASE_TEMPLATE("the token of an empty guard writes nothing", store, LATCHKEY_STORES) {
    store items;
    auto holder = items.connect();
    bool written = false;
    try {
      written = holder.write(fencing_token{}, "no grant");
    } catch (const std::exception&) {  // a database calls it an error
    }
    CHECK_FALSE(written);
    CHECK(holder.peek().empty());
  }

  TEST_CASE_TEMPLATE("of many writers at once the largest token wins", store, LATCHKEY_STORES) {
    store items;
    const auto write_some = [&](unsigned seed) {
      auto holder = items.connect();
      std::minstd_rand random{seed};
      fencing_token largest;
      for (int i = 0; i < 40; ++i) {
        const fencing_token token{static_cast<std::int64_t>(1 + i / 4 + random() % 10), 0};
        if (holder.write(token, to_string(token))) largest = std::max(largest, token);
      }
      return largest;
    };
    auto first = std::async(std::launch::async, write_some, 1);
    auto second = std::async(std::launch::async, write_some, 2);
    const auto largest = std::max(first.get(), second.get());
    CHECK(items.connect().peek() == to_string(largest));
    CHECK(items.connect().largest() == to_string(largest));
  }
}

}  // namespace latchkey::testing
