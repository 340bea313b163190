// SPDX-License-Identifier: Apache-2.0
#include "session/departures.hpp"

#include <algorithm>
#include <utility>

namespace latchkey::detail {

bool departures::expect(const std::string& parent, const std::string& name, duration patience,
                        std::function<void()> overdue) {
  auto& each = expected_[parent][name];
  if (each.timer) return false;
  each.overdue = std::move(overdue);
  each.timer = monitor_.in(patience, [this, parent, name] {
    const auto is_overdue = expected_.at(parent).at(name).overdue;
    gone(parent, name);
    is_overdue();
  });
  return true;
}

void departures::gone(const std::string& parent, std::string_view name) {
  const auto here = expected_.find(parent);
  if (here == expected_.end()) return;
  const auto at = here->second.find(name);
  if (at == here->second.end()) return;
  monitor_.cancel(at->second.timer);
  here->second.erase(at);
  if (here->second.empty()) expected_.erase(here);
}

void departures::listed(const std::string& parent, const std::vector<std::string>& children) {
  const auto here = expected_.find(parent);
  if (here == expected_.end()) return;
  for (auto at = here->second.begin(); at != here->second.end();) {
    const auto each = at++;
    if (std::find(children.begin(), children.end(), each->first) != children.end()) continue;
    monitor_.cancel(each->second.timer);
    here->second.erase(each);
  }
  if (here->second.empty()) expected_.erase(here);
}

void departures::wait_no_longer() {
  for (auto& [parent, names] : std::exchange(expected_, {})) {
    for (auto& [name, each] : names) {
      monitor_.cancel(each.timer);
      each.overdue();
    }
  }
}

}  // namespace latchkey::detail
