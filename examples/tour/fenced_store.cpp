// SPDX-License-Identifier: Apache-2.0
#include "fenced_store.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

namespace tour {

bool fenced_store::write(latchkey::fencing_token token, std::string value) {
  std::vector<waiter> overtaken;
  {
    const std::lock_guard lock{mutex_};
    if (token < largest_) return false;
    largest_ = token;
    value_ = std::move(value);
    const auto rest =
        std::partition(waiters_.begin(), waiters_.end(), [&](const waiter& w) { return w.token >= token; });
    overtaken.assign(std::make_move_iterator(rest), std::make_move_iterator(waiters_.end()));
    waiters_.erase(rest, waiters_.end());
  }
  for (const auto& one : overtaken) one.tell(true);
  return true;
}

void fenced_store::when_overtaken(latchkey::fencing_token token, std::function<void(bool)> tell) {
  bool overtaken = false;
  {
    const std::lock_guard lock{mutex_};
    overtaken = token < largest_;
    if (!overtaken && !closed_) {
      waiters_.push_back({token, std::move(tell)});
      return;
    }
  }
  tell(overtaken);
}

void fenced_store::close() {
  std::vector<waiter> left;
  {
    const std::lock_guard lock{mutex_};
    closed_ = true;
    left = std::exchange(waiters_, {});
  }
  for (const auto& one : left) one.tell(false);
}

latchkey::fencing_token fenced_store::largest() const {
  const std::lock_guard lock{mutex_};
  return largest_;
}

}  // namespace tour
