// SPDX-License-Identifier: Apache-2.0
#include "checker.hpp"

#include <algorithm>

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "exclusion/overlap.hpp"

namespace latchkey::testing {
namespace {

std::string describe(const period& each) {
  return fmt::format("{} ({}, session {:x}, czxid {:x}, from {} to {})", each.who, each.kind, each.session, each.czxid,
                     each.granted, each.ended);
}

/// The one of the kind whose node is the newest.
struct newest {
  const period* last = nullptr;

  void add(const period& each) {
    if (each.czxid != 0 && (last == nullptr || each.czxid > last->czxid)) last = &each;
  }
  bool is_behind(const period& each) const { return each.czxid != 0 && last != nullptr && last->czxid > each.czxid; }
};

}  // namespace

std::vector<std::string> overlaps(const std::vector<period>& periods) {
  std::vector<std::string> found;
  const auto held = [](const period& each) {
    return holding<std::int64_t>{each.granted, each.ended, each.exclusive()};
  };
  for_each_overlap(periods, held, [&](const period& earlier, const period& later) {
    if (later.granted == later.ended) return;  // its session was over
    found.push_back(fmt::format("{} and {} overlap", describe(earlier), describe(later)));
  });
  return found;
}

std::vector<std::string> overtakings(const std::vector<period>& periods) {
  std::vector<std::string> found;
  newest exclusive;
  newest any;
  for (const auto& each : periods) {
    if (each.kind == "downgraded") continue;
    const auto& against = each.exclusive() ? any : exclusive;
    if (against.is_behind(each)) {
      found.push_back(fmt::format("{} was granted before {}", describe(*against.last), describe(each)));
    }
    if (each.exclusive()) exclusive.add(each);
    any.add(each);
  }
  return found;
}

std::vector<std::string> excess(const std::vector<period>& periods, std::size_t permits) {
  std::vector<std::string> found;
  const auto held = [](const period& each) { return share<std::int64_t>{each.granted, each.ended}; };
  const auto never = [](const period&, const period& later) { return later.granted == later.ended; };
  for_each_excess(periods, permits, held, never, [&](const period& later, std::uint64_t sum) {
    found.push_back(fmt::format("{} is one of {}", describe(later), sum));
  });
  return found;
}

std::size_t readers_together(const std::vector<period>& periods) {
  std::size_t count = 0;
  std::int64_t until = 0;  // of the readers so far, the one that reads longest
  for (const auto& each : periods) {
    if (each.exclusive()) continue;
    if (until > each.granted) ++count;
    until = std::max(until, each.ended);
  }
  return count;
}

std::string first_of(const std::vector<std::string>& sentences) {
  if (sentences.empty()) return {};
  return fmt::format("{} in all; the first: {}", sentences.size(), sentences.front());
}

void check(const history& seen) {
  const auto periods = seen.periods();
  CHECK(first_of(overlaps(periods)) == "");
  CHECK(first_of(overtakings(periods)) == "");
}

}  // namespace latchkey::testing
