// SPDX-License-Identifier: Apache-2.0
#pragma once

/// The names of contenders, as Curator and kazoo write and read them.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace latchkey::detail {

enum class contender_kind : std::uint8_t { lock, read, write };

std::string_view to_string(contender_kind kind) noexcept;

/// Where a child of a lock path stands in the queue.
struct place {
  /// The sequence number. ZooKeeper's counter is a signed 32-bit one: read as unsigned, numbers that have wrapped
  /// around come last, as they came last.
  std::uint32_t number = 0;
  contender_kind kind{};

  friend bool operator==(const place&, const place&) = default;
};

/// How many digits of a name are its number.
inline constexpr std::size_t number_digits = 10;

/// The largest sequence number that a server gives to one child only; from there on the counter sticks.
inline constexpr std::uint32_t last_number = 2147483646;

/// @returns the name of a new entry up to its number, "_c_<uuid>-lock-", as Curator's protected nodes.
std::string entry_prefix(std::string_view uuid, contender_kind kind);

/// @returns the place of the child with this name; nothing for one that is not a contender (any name is tolerated).
std::optional<place> parse_contender(std::string_view name) noexcept;

}  // namespace latchkey::detail
