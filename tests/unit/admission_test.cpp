// SPDX-License-Identifier: Apache-2.0
#include "queue/admission.hpp"

#include <algorithm>
#include <random>
#include <vector>

#include <doctest/doctest.h>

#include "recipes/rules.hpp"

namespace latchkey::detail {
namespace {

using names = std::vector<std::string>;
using verdict = admission::verdict;

const std::string a = "_c_aa-lock-0000000001";
const std::string b = "_c_bb-lock-0000000002";
const std::string c = "_c_cc-lock-0000000010";

admission admit(const names& children, std::string_view me) {
  return detail::admit(children, me, rule_of(parse_contender(me)->kind));
}

bool is_held(const names& children, contender_kind mine) { return detail::is_held(children, rule_of(mine)); }

}  // namespace

TEST_SUITE("admission") {
  TEST_CASE("the first in line is granted") {
    CHECK(admit(names{c, a, b}, a).what == verdict::granted);
    CHECK(admit(names{a}, a).what == verdict::granted);
  }

  TEST_CASE("the others wait for their immediate predecessor") {
    const names children{c, a, b};
    const auto third = admit(children, c);
    CHECK(third.what == verdict::wait);
    CHECK(third.blocker == b);
    CHECK(third.blockers == 2);
    const auto second = admit(children, b);
    CHECK(second.blocker == a);
    CHECK(second.blockers == 1);
  }

  TEST_CASE("whoever is let in learns who is behind") {
    const names children{c, a, b};
    const auto first = admit(children, a);
    CHECK(first.last == c);
    CHECK(first.behind == 2);
    const auto last = admit(children, c);
    CHECK(last.last.empty());
    CHECK(last.behind == 0);
  }

  TEST_CASE("who is not in the list is gone") {
    CHECK(admit(names{a, b}, c).what == verdict::gone);
    CHECK(admit(names{}, c).what == verdict::gone);
  }

  TEST_CASE("names of others than contenders are ignored, whatever they are") {
    const names children{"00", "config",     "lock", "lock-", "name-", "_c_x-lock-12345", "lease-0000000000",
                         "",   "0000000000", b};
    CHECK(admit(children, b).what == verdict::granted);
    CHECK_FALSE(is_held(names{"00", "config", "lock-"}, contender_kind::lock));
  }

  TEST_CASE("contenders of Curator, of kazoo and plain ones are seen") {
    CHECK(admit(names{"_c_5f3e-lock-0000000000", b}, b).what == verdict::wait);
    CHECK(admit(names{"lock-0000000000", b}, b).what == verdict::wait);
    CHECK(admit(names{"e4f5__lock__0000000000", b}, b).what == verdict::wait);
  }

  TEST_CASE("a counter that has wrapped around orders its numbers last") {
    const std::string wrapped = "_c_ww-lock--2147483648";
    CHECK(admit(names{wrapped, b}, b).what == verdict::granted);
    CHECK(admit(names{wrapped, b}, wrapped).blocker == b);
    CHECK_FALSE(parse_contender("_c_ww-lock-2147483648"));
  }

  TEST_CASE("readers go together and everything else alone") {
    const std::string r1 = "_c_a-__READ__0000000001";
    const std::string w2 = "_c_b-__WRIT__0000000002";
    const std::string r3 = "_c_c-__READ__0000000003";
    const std::string r4 = "_c_d-__READ__0000000004";
    const std::string w5 = "_c_e-__WRIT__0000000005";
    const names children{w5, r3, r1, w2, r4};
    CHECK(admit(children, r1).what == verdict::granted);
    CHECK(admit(children, w2).blocker == r1);
    CHECK(admit(children, r3).blocker == w2);
    CHECK(admit(children, r4).blocker == w2);
    CHECK(admit(children, r4).blockers == 1);
    CHECK(admit(children, w5).blocker == r4);
    CHECK(admit(children, w5).blockers == 4);
    CHECK(is_held(names{r1}, contender_kind::write));
    CHECK_FALSE(is_held(names{r1}, contender_kind::read));
  }

  TEST_CASE("who waits for whom is mutual, and only a writer may become another kind") {
    const auto all = {contender_kind::lock, contender_kind::read, contender_kind::write};
    for (const auto one : all) {
      const auto& kind = rule_of(one);
      CHECK(kind.exclusive() == (one != contender_kind::read));
      CHECK((kind.downgraded == &rule_of(contender_kind::read)) == (one == contender_kind::write));
      for (const auto other : all) {
        CHECK(blocks(one, other) == blocks(other, one));
        CHECK(kind.may_be_back(rule_of(other)) == (one != contender_kind::read && other == contender_kind::write));
      }
    }
  }

  TEST_CASE("the verdict does not depend on the order of the list") {
    std::mt19937 random{7};
    names children;
    for (int i = 0; i < 40; ++i)
      children.push_back("_c_x" + std::to_string(i) + "-lock-00000000" + std::to_string(10 + i));
    for (int round = 0; round < 200; ++round) {
      std::shuffle(children.begin(), children.end(), random);
      const auto result = admit(children, "_c_x30-lock-0000000040");
      REQUIRE(result.blocker == "_c_x29-lock-0000000039");
      REQUIRE(result.blockers == 30);
    }
  }
}

}  // namespace latchkey::detail
