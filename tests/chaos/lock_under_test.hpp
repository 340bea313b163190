// SPDX-License-Identifier: Apache-2.0
#pragma once

/// A lock of any family, as far as the families are alike.

#include <chrono>
#include <cstdint>
#include <memory>
#include <stop_token>
#include <string>
#include <vector>

#include <latchkey/client.hpp>
#include <latchkey/fair_mutex.hpp>
#include <latchkey/reentrant_mutex.hpp>
#include <latchkey/shared_mutex.hpp>

#include "family.hpp"

namespace chaos {

struct lock_options {
  std::uint32_t turns = 16;
  std::chrono::milliseconds linger{0};                         ///< of those families that may
  latchkey::hand_off hand_off = latchkey::hand_off::ensemble;  ///< of those, too
};

/// Every call takes the access that is wanted; only one family knows more than one.
class lock_under_test {
 public:
  virtual ~lock_under_test() = default;

  virtual void lock(access how) = 0;
  virtual bool lock(access how, std::stop_token stop) = 0;
  virtual bool try_lock(access how) = 0;
  virtual bool try_lock_for(access how, std::chrono::milliseconds timeout) = 0;
  virtual void unlock(access how) noexcept = 0;
  virtual latchkey::grant held(access how) const = 0;

  // What only one family can; null for the others.
  virtual latchkey::reentrant_mutex* as_reentrant() noexcept { return nullptr; }
  virtual latchkey::fair_mutex* as_fair() noexcept { return nullptr; }
  virtual latchkey::shared_mutex* as_shared() noexcept { return nullptr; }
};

using locks_under_test = std::vector<std::unique_ptr<lock_under_test>>;

std::unique_ptr<lock_under_test> make_lock(family which, latchkey::client& client, const std::string& path,
                                           lock_options how);

}  // namespace chaos
