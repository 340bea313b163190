// SPDX-License-Identifier: Apache-2.0
#include "exclusion/overlap.hpp"

#include <string>

#include <doctest/doctest.h>

namespace latchkey::testing {
namespace {

struct holder {
  std::string name;
  holding<int> held;
};

constexpr bool reads = false;

/// The pairs that overlap: "ab cd ".
std::string overlaps(const std::vector<holder>& all) {
  std::string pairs;
  for_each_overlap(
      all, [](const holder& each) { return each.held; },
      [&](const holder& earlier, const holder& later) { pairs += earlier.name + later.name + ' '; });
  return pairs;
}

}  // namespace

TEST_SUITE("overlap") {
  TEST_CASE("holders one after the other do not overlap, also where one ends as the next begins") {
    CHECK(overlaps({}).empty());
    CHECK(overlaps({{"a", {1, 3}}, {"b", {3, 5}}, {"c", {6, 7}}}).empty());
  }

  TEST_CASE("two holders at the same time are refused, whatever their order") {
    CHECK(overlaps({{"a", {1, 4}}, {"b", {3, 5}}}) == "ab ");
    CHECK(overlaps({{"b", {3, 5}}, {"a", {1, 4}}}) == "ab ");
    CHECK(overlaps({{"a", {1, 4}}, {"b", {1, 4}}}) == "ab ");
  }

  TEST_CASE("every pair is refused, also with a holder that is not the last one") {
    CHECK(overlaps({{"a", {1, 9}}, {"b", {2, 3}}, {"c", {5, 6}}}) == "ab ac ");
    CHECK(overlaps({{"a", {1, 9}}, {"b", {2, 9}}, {"c", {3, 9}}}) == "ab ac bc ");
  }

  TEST_CASE("readers may be together, and no writer with any of them") {
    CHECK(overlaps({{"a", {1, 9, reads}}, {"b", {2, 5, reads}}}).empty());
    CHECK(overlaps({{"a", {1, 9, reads}}, {"b", {2, 5, reads}}, {"w", {4, 6}}}) == "aw bw ");
    CHECK(overlaps({{"w", {1, 4}}, {"a", {2, 9, reads}}, {"b", {3, 9, reads}}}) == "wa wb ");
  }

  TEST_CASE("a holder that was seen to hold only once overlaps with those around it, and with none after it") {
    CHECK(overlaps({{"a", {1, 5}}, {"b", {3, 3}}, {"c", {5, 6}}}) == "ab ");
    CHECK(overlaps({{"a", {3, 3}}, {"b", {3, 5}}}).empty());
  }
}

}  // namespace latchkey::testing
