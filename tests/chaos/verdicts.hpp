// SPDX-License-Identifier: Apache-2.0
#pragma once
// What the tests of the checker's rules say of a story.

#include <doctest/doctest.h>

#include <string>

#include "checker.hpp"
#include "story.hpp"

namespace chaos {

inline const std::string a = "w1.1/0/0";
inline const std::string b = "w2.1/0/0";
inline const std::string c = "w3.1/0/0";

inline void accepts(const story& what) {
  for (const auto& one : check(what.tell())) FAIL_CHECK(to_string(one.which), ": ", one.text);
}

inline void refuses(const story& what, rule which) {
  const auto found = check(what.tell());
  REQUIRE_FALSE(found.empty());
  for (const auto& one : found) CHECK_MESSAGE(one.which == which, to_string(one.which), ": ", one.text);
}

}  // namespace chaos
