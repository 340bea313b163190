// SPDX-License-Identifier: Apache-2.0
#pragma once

/// The names of sequential nodes.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace latchkey::detail {

/// How many digits of a name are its number.
inline constexpr std::size_t number_digits = 10;

/// The largest sequence number that a server gives to one child only; from there on the counter sticks.
inline constexpr std::uint32_t last_number = 2147483646;

/// @returns the sequence number of a child whose name ends with `marker` and a number; nothing for any other name.
/// @note ZooKeeper's counter is a signed 32-bit one: read as unsigned, numbers that have wrapped around come last, as
/// they came last.
std::optional<std::uint32_t> number_after(std::string_view marker, std::string_view name) noexcept;

/// @param number at most `last_number`. @returns what a server writes behind the name of a child that has it.
std::string number_text(std::uint32_t number);

}  // namespace latchkey::detail
