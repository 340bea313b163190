// SPDX-License-Identifier: Apache-2.0
#include "base/escape.hpp"

#include <iterator>

#include <fmt/format.h>

namespace latchkey::detail {

std::string escaped(std::string_view text, std::string_view also) {
  std::string safe;
  safe.reserve(text.size());
  for (const char each : text) {
    const auto code = static_cast<unsigned char>(each);
    if (each == '\\' || also.find(each) != std::string_view::npos) {
      safe.push_back('\\');
      safe.push_back(each);
    } else if (code < 0x20 || code == 0x7f) {
      fmt::format_to(std::back_inserter(safe), "\\x{:02x}", code);
    } else {
      safe.push_back(each);
    }
  }
  return safe;
}

}  // namespace latchkey::detail
