// SPDX-License-Identifier: Apache-2.0
#pragma once

/// The money.

#include <chrono>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>

#include <latchkey/fencing_token.hpp>

namespace bank {

/// Stands for the database that all instances share: put yours in its place. It compares the token and writes in one
/// step: `UPDATE account SET balance = :b, fence = :f WHERE id = :id AND fence <= :f`.
class ledger {
 public:
  std::int64_t balance(const std::string& id) const {
    const std::lock_guard lock{mutex_};
    const auto found = rows_.find(id);
    return found == rows_.end() ? 0 : found->second.balance;
  }

  /// @returns whether it was written: not if a later holder of the lock of this account has written.
  bool write(const std::string& id, std::int64_t balance, latchkey::fencing_token fence) {
    const std::lock_guard lock{mutex_};
    auto& found = rows_[id];
    if (fence < found.fence) return false;
    found = {balance, fence, found.closed};
    return true;
  }

  /// Closes an account that is still open on that day. @returns its id; nothing if all are closed.
  std::optional<std::string> close_one(std::chrono::sys_days day) {
    const std::lock_guard lock{mutex_};
    for (auto& [id, account] : rows_) {
      if (account.closed >= day) continue;
      account.closed = day;
      return id;
    }
    return std::nullopt;
  }

 private:
  struct row {
    std::int64_t balance = 0;
    latchkey::fencing_token fence{};
    std::chrono::sys_days closed{};
  };
  mutable std::mutex mutex_;
  std::map<std::string, row> rows_;
};

}  // namespace bank
