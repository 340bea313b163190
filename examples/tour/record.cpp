// SPDX-License-Identifier: Apache-2.0
#include "record.hpp"

#include <utility>

namespace tour {

void record::add(event what) {
  timeline_.add(what);
  {
    const std::lock_guard lock{mutex_};
    events_.push_back(std::move(what));
  }
  added_.notify_all();
}

std::vector<event> record::events() const {
  const std::lock_guard lock{mutex_};
  return events_;
}

}  // namespace tour
