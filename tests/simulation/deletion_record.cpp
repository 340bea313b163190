// SPDX-License-Identifier: Apache-2.0
#include "simulation/deletion_record.hpp"

#include <algorithm>
#include <utility>

namespace latchkey::testing {

void deletion_record::add(unsigned lock, unsigned client, std::string node, time_point at) {
  all_.push_back({lock, client, std::move(node), at, {}, {}});
}

void deletion_record::observe(time_point now, const std::function<bool(unsigned)>& connected) {
  while (first_open_ < all_.size() && all_[first_open_].known) ++first_open_;
  for (auto i = first_open_; i < all_.size(); ++i) {
    auto& each = all_[i];
    if (each.known) continue;
    if (!connected(each.client)) {
      each.connected_since.reset();
      continue;
    }
    if (!each.connected_since) each.connected_since = now;
    if (now - *each.connected_since > to_learn_) each.known = *each.connected_since + to_learn_;
  }
}

excuses deletion_record::of(unsigned lock, unsigned client,
                            const std::function<bool(const std::string&)>& is_own) const {
  excuses found;
  for (const auto& each : all_) {
    if (each.lock != lock || each.client != client || !is_own(each.node)) continue;
    const auto at_most = each.at + to_learn_ + lease_;
    found.push_back({each.at, std::min(each.known.value_or(at_most), at_most)});
  }
  return found;
}

}  // namespace latchkey::testing
