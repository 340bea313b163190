// SPDX-License-Identifier: Apache-2.0
#include "checker.hpp"

#include <doctest/doctest.h>

namespace latchkey::testing {

TEST_SUITE("checker") {
  TEST_CASE("owners one after the other are in order and do not overlap") {
    const auto periods = read_periods(
        "granted a mutex 10 1 0\nreleased a mutex 20 1 100\n"
        "granted b mutex 21 2 0\nreleased b mutex 30 2 101\n"
        "granted a mutex 30 1 0\nreleased a mutex 40 1 102\n");
    REQUIRE(periods.size() == 3);
    CHECK(overlaps(periods).empty());
    CHECK(overtakings(periods).empty());
  }

  TEST_CASE("an overlap of two owners is found, whatever the order of their lines") {
    const auto periods = read_periods(
        "granted b mutex 15 2 0\ngranted a mutex 10 1 0\n"
        "released a mutex 20 1 100\nreleased b mutex 30 2 101\n");
    CHECK(overlaps(periods).size() == 1);
    CHECK(overtakings(periods).empty());
  }

  TEST_CASE("an overlap with an owner that is not the last one is found") {
    CHECK(overlaps(read_periods("granted a mutex 10 1 0\nreleased a mutex 50 1 100\n"
                                "granted b mutex 20 2 0\nreleased b mutex 25 2 101\n"
                                "granted c mutex 30 3 0\nreleased c mutex 35 3 102\n"))
              .size() == 2);
  }

  TEST_CASE("who never ends holds for ever, unless killed or expired") {
    const std::string text = "granted a mutex 10 1 0\ngranted b mutex 30 2 0\nreleased b mutex 40 2 101\n";
    CHECK(overlaps(read_periods(text)).size() == 1);
    CHECK(overlaps(read_periods(text + "killed a 25\n")).empty());
    CHECK(overlaps(read_periods(text + "expired 1 25\n")).empty());
    CHECK(overlaps(read_periods(text + "expired 1 35\n")).size() == 1);
    CHECK(overlaps(read_periods(text + "expired 3 25\n")).size() == 1);
    CHECK(overlaps(read_periods(text + "expired 2 25\n")).empty());  // whose reply was on its way
  }

  TEST_CASE("who knew at the grant that its session was over held nothing") {
    const std::string text = "granted b mutex 15 2 0\nreleased b mutex 20 2 101\n";
    CHECK(overlaps(read_periods(text + "granted a mutex 10 1 0\nreleased a mutex 30 1 0\n")).size() == 1);
    CHECK(overlaps(read_periods(text + "granted a mutex 10 0 0\nreleased a mutex 30 0 0\n")).empty());
    CHECK(overlaps(read_periods(text + "granted a mutex 17 0 0\nreleased a mutex 30 0 0\n")).empty());
  }

  TEST_CASE("readers overlap readers, and no writer") {
    const std::string readers =
        "granted a read 10 1 0\nreleased a read 20 1 100\n"
        "granted b read 15 2 0\nreleased b read 30 2 101\n";
    CHECK(overlaps(read_periods(readers)).empty());
    CHECK(readers_together(read_periods(readers)) == 1);
    CHECK(overlaps(read_periods(readers + "granted c write 25 3 0\nreleased c write 35 3 102\n")).size() == 1);
    CHECK(overlaps(read_periods(readers + "granted c write 5 3 0\nreleased c write 12 3 99\n")).size() == 1);
    CHECK(overlaps(read_periods(readers + "granted c write 30 3 0\nreleased c write 35 3 102\n")).empty());
    CHECK(overlaps(read_periods("granted a downgraded 10 1 0\nreleased a downgraded 20 1 100\n"
                                "granted b write 15 2 0\nreleased b write 30 2 101\n"))
              .size() == 1);
  }

  TEST_CASE("a node that overtakes another is found, unless both read") {
    CHECK(overtakings(read_periods("granted a mutex 10 1 0\nreleased a mutex 20 1 101\n"
                                   "granted b mutex 30 2 0\nreleased b mutex 40 2 100\n"))
              .size() == 1);
    CHECK(overtakings(read_periods("granted a read 10 1 0\nreleased a read 20 1 101\n"
                                   "granted b read 30 2 0\nreleased b read 40 2 100\n"))
              .empty());
    CHECK(overtakings(read_periods("granted a read 10 1 0\nreleased a read 20 1 101\n"
                                   "granted b write 30 2 0\nreleased b write 40 2 100\n"))
              .size() == 1);
    CHECK(overtakings(read_periods("granted a downgraded 10 1 0\nreleased a downgraded 20 1 101\n"
                                   "granted b write 30 2 0\nreleased b write 40 2 100\n"))
              .empty());
  }

  TEST_CASE("a history that makes no sense is refused") {
    CHECK_THROWS(read_periods("granted a mutex 10\n"));
    CHECK_THROWS(read_periods("released a mutex 10 1 0\n"));
    CHECK_THROWS(read_periods("granted a mutex 10 1 0\ngranted a mutex 11 1 0\n"));
    CHECK_THROWS(read_periods("borrowed a mutex 10 1 0\n"));
  }
}

}  // namespace latchkey::testing
