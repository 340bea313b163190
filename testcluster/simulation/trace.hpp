// SPDX-License-Identifier: Apache-2.0
#pragma once

/// The fake's story in words.

#include <string>
#include <string_view>

#include "bridge/znodes.hpp"
#include "simulation/fake_tree.hpp"

namespace latchkey::testing {

std::string to_string(detail::reply_code code);
std::string_view to_string(detail::operation kind) noexcept;
std::string_view to_string(detail::watch_event event) noexcept;
std::string_view to_string(detail::connection_state state) noexcept;

std::string describe(const detail::request& what);
std::string describe(const detail::reply& answer);
std::string describe(const commit& what, const path_table& paths);

}  // namespace latchkey::testing
