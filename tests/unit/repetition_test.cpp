// SPDX-License-Identifier: Apache-2.0
#include "base/repetition.hpp"

#include <doctest/doctest.h>

#include <vector>

using namespace latchkey::detail;
using namespace std::chrono_literals;

TEST_SUITE_BEGIN("repetition");

TEST_CASE("the second attempt comes at once, each later one after twice the pause, and the tenth is the last") {
  repetition of;
  CHECK_FALSE(of.begun());
  std::vector<duration> pauses;
  while (const auto pause = of.next()) pauses.push_back(*pause);
  CHECK(pauses == std::vector<duration>{0ms, 10ms, 20ms, 40ms, 80ms, 160ms, 320ms, 640ms, 1280ms});
  CHECK(pauses.size() + 1 == repetition::most_attempts);
  CHECK(pauses.back() == repetition::longest_pause);
  CHECK_FALSE(of.next());
}

TEST_CASE("an answer ends it, and the next failure is the first") {
  repetition of;
  for (int i = 0; i < 100; ++i) of.next();
  CHECK(of.begun());
  of.end();
  CHECK_FALSE(of.begun());
  CHECK(of.next() == duration::zero());
}

TEST_SUITE_END();
