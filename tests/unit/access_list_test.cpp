// SPDX-License-Identifier: Apache-2.0
#include "bridge/access_list.hpp"

#include <doctest/doctest.h>
#include <latchkey/error.hpp>

#include <ostream>
#include <string>
#include <utility>
#include <vector>

using namespace latchkey::detail;

namespace {

/// @returns the message of the error `bad_option`; empty if there is none.
std::string failure_of(std::vector<latchkey::acl_entry> entries) {
  try {
    access_list list{std::move(entries)};
    return {};
  } catch (const latchkey::error& failure) {
    CHECK(failure.code() == latchkey::errc::bad_option);
    return failure.what();
  }
}

}  // namespace

TEST_SUITE_BEGIN("access list");

TEST_CASE("an ACL that gives c, d or r to nobody is refused, and says which") {
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

TEST_CASE("a digest that no user can have is refused, and is not repeated: it may be a password") {
  const std::string digest = "bTj1PZFxj0OnUSJOhfMMYt8/Pvs=";
  CHECK(failure_of({{"digest", "billing:" + digest, "cdrwa"}}).empty());
  const std::vector<std::string> wrong{"billing:secret",
                                       "billing",
                                       "",
                                       digest,
                                       ":" + digest,
                                       "billing:" + digest + "=",
                                       "billing:" + digest.substr(1),
                                       "billing:secret:" + digest,
                                       "billing:-Tj1PZFxj0OnUSJOhfMMYt8/Pvs=",
                                       "billing:bTj1PZFxj0OnUSJOhfMMYt8/PvsA"};
  for (const auto& id : wrong) {
    CAPTURE(id);
    const auto what = failure_of({{"digest", id, "cdrwa"}});
    CHECK(what.find("base64") != std::string::npos);
    CHECK(what.find("secret") == std::string::npos);
  }
  CHECK(failure_of({{"digest", "billing:secret", "xyz"}}).find("secret") == std::string::npos);
  CHECK(failure_of({{"auth", "", "cdrwa"}, {"ip", "10.0.0.0/8", "r"}}).empty());
}

TEST_CASE("nothing behind the first colon of an entry is repeated, and a scheme has no colon") {
  const std::vector<latchkey::acl_entry> careless{
      {"auth", "bob:secret", "cdrz"},     {"auth", "bob:secret", ""},         {"ip", "bob:secret", ""},
      {" digest", "bob:secret", "cdrwa"}, {"digest:bob:secret", "", "cdrwa"}, {"", "bob:secret", "cdrwa"}};
  for (const auto& each : careless) {
    CAPTURE(each.scheme);
    const auto what = failure_of({each});
    CHECK(what != "");
    CHECK(what.find("secret") == std::string::npos);
  }
  CHECK(name_of({"auth", "bob:secret", "r"}) == "auth:bob...");
  CHECK(name_of({"ip", "10.0.0.0/8", "r"}) == "ip:10.0.0.0/8");
}

TEST_SUITE_END();
