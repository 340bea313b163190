// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Random UUIDs: what finds an entry again when the reply to its creation was lost.

#include <cstdint>
#include <random>
#include <string>

namespace latchkey::detail {

/// A reproducible sequence of UUIDs of version 4. Not for several threads at once.
class unique_ids {
 public:
  explicit unique_ids(std::uint64_t seed) : random_{seed} {}
  explicit unique_ids(std::seed_seq& seed) : random_{seed} {}

  /// @returns 36 characters, lower case.
  std::string next();
  /// @returns one of those that begin with these bits, but for the version.
  std::string next(std::uint64_t high);

 private:
  std::mt19937_64 random_;
};

/// @returns a UUID of its own. From any thread, also in a forked child; leaves rand() and random() alone,
/// which the C client seeds again and again (HAZARDS 2).
std::string unique_id();
/// @returns the same, one of those that begin with these bits.
std::string unique_id(std::uint64_t high);

}  // namespace latchkey::detail
