// SPDX-License-Identifier: Apache-2.0
#pragma once

/// The members of a JSON object that anyone may have written.

#include <cstdint>
#include <string>

#include <nlohmann/json.hpp>

namespace latchkey::detail {

/// @returns the text of that name; empty if there is none.
inline std::string text_at(const nlohmann::json& members, const char* key) {
  const auto at = members.find(key);
  return at != members.end() && at->is_string() ? at->get<std::string>() : std::string{};
}

/// @returns the whole number of that name; zero if there is none.
inline std::int64_t number_at(const nlohmann::json& members, const char* key) {
  const auto at = members.find(key);
  return at != members.end() && at->is_number_integer() ? at->get<std::int64_t>() : 0;
}

}  // namespace latchkey::detail
