// SPDX-License-Identifier: Apache-2.0
#include "fake/deletion_record.hpp"

#include <algorithm>
#include <utility>

namespace latchkey::testing {

void deletion_record::add(unsigned lock, unsigned client, std::string node, time_point at) {
  all_.push_back({lock, client, std::move(node), at, {}, {}, {}});
}

void deletion_record::observe(time_point now, const std::function<bool(unsigned)>& connected) {
  while (first_open_ < all_.size() && all_[first_open_].recovered) ++first_open_;
  for (auto i = first_open_; i < all_.size(); ++i) {
    auto& each = all_[i];
    if (each.recovered) continue;
    if (!connected(each.client)) {
      each.connected_since.reset();
      continue;
    }
    if (!each.connected_since) each.connected_since = now;
    const auto for_ = now - *each.connected_since;
    if (!each.known && for_ > to_learn_) each.known = *each.connected_since + to_learn_;
    if (for_ > to_recover_) each.recovered = *each.connected_since + to_recover_;
  }
}

excuses deletion_record::of(unsigned lock, unsigned client, bool in_line,
                            const std::function<bool(const std::string&)>& is_own) const {
  excuses found;
  for (const auto& each : all_) {
    if (each.lock != lock || each.client != client) continue;
    const bool own = is_own(each.node);
    if (!own && !in_line) continue;
    const auto ends = own ? each.known : each.recovered;
    const auto at_most = each.at + (own ? to_learn_ : to_recover_) + lease_;
    found.push_back({each.at, std::min(ends.value_or(at_most), at_most), own});
  }
  return found;
}

}  // namespace latchkey::testing
