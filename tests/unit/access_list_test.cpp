// SPDX-License-Identifier: Apache-2.0
#include "bridge/access_list.hpp"

#include <doctest/doctest.h>
#include <latchkey/error.hpp>

#include <ostream>
#include <string>
#include <utility>
#include <vector>

using namespace latchkey::detail;

TEST_SUITE_BEGIN("access list");

TEST_CASE("an ACL that gives c, d or r to nobody is refused, and says which") {
  const auto failure_of = [](std::vector<latchkey::acl_entry> entries) -> std::string {
    try {
      access_list list{std::move(entries)};
      return {};
    } catch (const latchkey::error& failure) {
      CHECK(failure.code() == latchkey::errc::bad_option);
      return failure.what();
    }
  };
  for (const std::string without : {"c", "d", "r"}) {
    CAPTURE(without);
    std::string rest = "cdrwa";
    rest.erase(rest.find(without), 1);
    const auto what = failure_of({{"world", "anyone", rest}});
    CHECK(what.find(" " + without + " (") != std::string::npos);
    CHECK(what.find("client_options::acl") != std::string::npos);
  }
  CHECK(failure_of({{"world", "anyone", "r"}, {"auth", "", "cd"}}).empty());
  CHECK(failure_of({{"world", "anyone", "cdr"}}).empty());
  CHECK(failure_of({}).empty());
}

TEST_SUITE_END();
