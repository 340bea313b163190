// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Text of others, as it may stand in a line.

#include <string>
#include <string_view>

namespace latchkey::detail {

/// @returns `text` on one line, without control characters and in valid UTF-8: what is not, separators of
/// lines, changes of direction, backslashes and the characters of `also` are escaped as in C.
std::string escaped(std::string_view text, std::string_view also = {});

}  // namespace latchkey::detail
