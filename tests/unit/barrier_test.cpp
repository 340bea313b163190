// SPDX-License-Identifier: Apache-2.0
/// What is read behind a barrier, through servers that lag.

#include "queue/inquiry.hpp"

#include <chrono>
#include <cstdint>
#include <memory>
#include <set>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "support/calm_world.hpp"

namespace latchkey::testing {

using namespace std::chrono_literals;

TEST_SUITE("barrier") {
  TEST_CASE("a list behind a barrier shows what was committed before, through the leader and through a follower") {
    std::set<bool> leaders;
    for (std::uint64_t seed = 1; seed <= 10; ++seed) {
      CAPTURE(seed);
      calm_world w{seed};
      leaders.insert(w.one.connector().latest()->server()->is_leader());
      w.ensemble.create("/q");
      w.time.run_for(1s);
      for (unsigned i = 0; i < w.ensemble.servers(); ++i) w.ensemble.lag(i, {1s, 1s});
      (void)w.intrude("-lock-", 0);
      const auto asked = std::make_shared<detail::inquiry>(
          *w.one.core(), "/q",
          std::vector<detail::request>{detail::barrier("/q"), {.kind = detail::operation::children, .path = "/q"}});
      w.one.run([&] { asked->start(w.time.now() + 10s); });
      REQUIRE(w.eventually([&] { return asked->over(); }));
      const auto answers = asked->wait();
      REQUIRE(answers);
      CHECK(answers->back().children.size() == 1);
    }
    CHECK(leaders.size() == 2);
  }
}

}  // namespace latchkey::testing
