// SPDX-License-Identifier: Apache-2.0
#include "session/departures.hpp"

#include <algorithm>
#include <utility>

namespace latchkey::detail {

bool departures::expect(const std::string& parent, const std::string& name, duration patience,
                        std::function<void()> overdue) {
  auto& timer = expected_[parent][name];
  if (timer) return false;
  timer = monitor_.in(patience, [this, parent, name, overdue = std::move(overdue)] {
    gone(parent, name);
    overdue();
  });
  return true;
}

void departures::gone(const std::string& parent, std::string_view name) {
  const auto here = expected_.find(parent);
  if (here == expected_.end()) return;
  const auto at = here->second.find(name);
  if (at == here->second.end()) return;
  monitor_.cancel(at->second);
  here->second.erase(at);
  if (here->second.empty()) expected_.erase(here);
}

void departures::listed(const std::string& parent, const std::vector<std::string>& children) {
  const auto here = expected_.find(parent);
  if (here == expected_.end()) return;
  for (auto at = here->second.begin(); at != here->second.end();) {
    const auto each = at++;
    if (std::find(children.begin(), children.end(), each->first) != children.end()) continue;
    monitor_.cancel(each->second);
    here->second.erase(each);
  }
  if (here->second.empty()) expected_.erase(here);
}

}  // namespace latchkey::detail
