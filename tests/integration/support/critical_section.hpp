// SPDX-License-Identifier: Apache-2.0
#pragma once

/// What a lock protects, in the tests.

#include <atomic>

#include <doctest/doctest.h>
#include <latchkey/grant.hpp>

namespace latchkey::testing {

/// Counts who is inside, and whether anybody else was.
class critical_section {
 public:
  /// @param held of who is inside
  void visit(const grant& held) {
    if (inside_.fetch_add(1) != 0) ++overlaps_;
    if (!held) ++unheld_;
    if (held.fence() <= last_) ++backwards_;
    last_ = held.fence();
    ++visits_;
    inside_.fetch_sub(1);
  }
  void check(int visits) const {
    CHECK(overlaps_ == 0);
    CHECK(unheld_ == 0);
    CHECK(backwards_ == 0);
    CHECK(visits_ == visits);
  }

 private:
  std::atomic<int> inside_{0};
  std::atomic<int> overlaps_{0};
  std::atomic<int> unheld_{0};
  std::atomic<int> backwards_{0};
  fencing_token last_;  // guarded by the lock under test
  int visits_ = 0;
};

}  // namespace latchkey::testing
