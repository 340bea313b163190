// SPDX-License-Identifier: Apache-2.0
#include "exclusion.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "exclusion/overlap.hpp"

namespace chaos {

namespace {

using violations = std::vector<violation>;

std::string_view verb(access how) { return how == access::shared ? "read" : "held"; }

void check_overlap(const std::vector<period>& all, violations& found) {
  for (const auto& [before, one, length] : overlaps_of(all)) {
    found.push_back({rule::overlap, one->granted,
                     fmt::format("{} {} and {} {} lock {} at the same time, for {:.3f} ms", before->who,
                                 verb(before->how), one->who, verb(one->how), one->lock, milliseconds(length))});
  }
}

/// A holder that was killed or stopped looks no more; what it saw last still binds.
void check_leases(const std::vector<period>& all, violations& found) {
  for (std::size_t i = 0; i < all.size(); ++i) {
    const auto& one = all[i];
    const auto end = one.over ? std::min(*one.over, one.valid_until) : one.valid_until;
    for (std::size_t j = i + 1; j < all.size() && all[j].granted < end; ++j) {
      const auto& next = all[j];
      if (!one.keeps_out(next)) continue;
      if (next.excused(next.granted, next.granted)) continue;  // a waiter that does not know yet that its node is gone
      if (one.excused(next.granted) || one.seen > next.granted) break;  // the latter is an overlap
      found.push_back({rule::lease, next.granted,
                       fmt::format("lock {} was granted to {} {:.3f} ms before the lease of {} was over", one.lock,
                                   next.who, milliseconds(one.valid_until - next.granted), one.who)});
      break;
    }
  }
}

/// Of those so far with one access, the one with the largest token.
class largest_token {
 public:
  void add(const period& one) {
    if (largest_ == nullptr || one.token > largest_->token) largest_ = &one;
  }

  /// Complains unless the token of `one` is larger, or as large if that will do.
  void check(const period& one, bool equal_will_do, violations& found) const {
    if (largest_ == nullptr || one.token > largest_->token) return;
    if (equal_will_do && one.token == largest_->token) return;
    // Ended from outside before its first look, it may look when the next has looked already.
    if (one.excused(one.granted) && largest_->granted >= *one.struck) return;
    found.push_back({rule::token, one.granted,
                     fmt::format("lock {}: the token of {}, {}, is {} than that of {} before it, {}", one.lock, one.who,
                                 to_string(one.token), equal_will_do ? "smaller" : "not larger", largest_->who,
                                 to_string(largest_->token))});
  }

 private:
  const period* largest_ = nullptr;
};

/// Two readers may have theirs in any order.
void check_tokens(const std::vector<period>& all, violations& found) {
  largest_token of_writers;
  largest_token of_readers;
  for (const auto& one : all) {
    const bool reads = one.how == access::shared;
    of_writers.check(one, reads, found);
    if (!reads) of_readers.check(one, true, found);
    (reads ? of_readers : of_writers).add(one);
  }
}

}  // namespace

std::vector<overlap> overlaps_of(const std::vector<period>& of_lock) {
  std::vector<overlap> found;
  const auto looked = [](const period& each) {
    return latchkey::testing::holding<clock::time_point>{each.granted, each.seen, each.how == access::exclusive};
  };
  latchkey::testing::for_each_overlap(of_lock, looked, [&](const period& before, const period& one) {
    const auto end = std::min(one.seen, before.seen);
    // The later one may be the owner, too: a waiter whose node is deleted, or the next turn on such a node.
    if (before.excused(one.granted, end) || one.excused(one.granted, end)) return;
    found.push_back({&before, &one, end - one.granted});
  });
  return found;
}

violations check_exclusion(const std::vector<period>& of_lock, bool has_tokens) {
  violations found;
  check_overlap(of_lock, found);
  check_leases(of_lock, found);
  if (has_tokens) check_tokens(of_lock, found);
  return found;
}

}  // namespace chaos
