// SPDX-License-Identifier: Apache-2.0
#include "family.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <stdexcept>
#include <utility>

namespace chaos {

namespace {

constexpr std::array<std::pair<family, std::string_view>, 11> family_names{{
    {family::mutex, "mutex"},
    {family::linger, "linger"},
    {family::reentrant, "reentrant"},
    {family::robust, "robust"},
    {family::fair, "fair"},
    {family::shared, "shared"},
    {family::keyed, "keyed"},
    {family::election, "election"},
    {family::group, "group"},
    {family::semaphore, "semaphore"},
    {family::foreign, "foreign"},
}};

}  // namespace

std::string_view to_string(family which) noexcept {
  for (const auto& [known, name] : family_names) {
    if (known == which) return name;
  }
  return "?";
}

std::string_view to_string(access how) noexcept { return how == access::shared ? "shared" : "exclusive"; }

family parse_family(std::string_view text) {
  for (const auto& [known, name] : family_names) {
    if (name == text) return known;
  }
  throw std::invalid_argument{fmt::format("no such family of locks: '{}'", text)};
}

access parse_access(std::string_view text) {
  for (const auto how : {access::exclusive, access::shared}) {
    if (to_string(how) == text) return how;
  }
  throw std::invalid_argument{fmt::format("neither exclusive nor shared: '{}'", text)};
}

std::vector<family> parse_families(std::string_view text) {
  std::vector<family> result;
  for (std::size_t begin = 0; begin <= text.size();) {
    const auto end = std::min(text.find(',', begin), text.size());
    result.push_back(parse_family(text.substr(begin, end - begin)));
    begin = end + 1;
  }
  return result;
}

std::string to_string(const std::vector<family>& some) {
  std::string text;
  for (const auto each : some) text += fmt::format("{}{}", text.empty() ? "" : ",", to_string(each));
  return text;
}

std::vector<family> all_families() {
  std::vector<family> all;
  for (const auto& [which, name] : family_names) {
    if (which != family::foreign) all.push_back(which);
  }
  return all;
}

std::vector<family> draw_families(std::vector<family> from, int locks, dice& chance) {
  for (std::size_t i = from.size(); i > 1; --i) std::swap(from[i - 1], from[chance.one_of(i)]);
  std::vector<family> drawn;
  for (std::size_t i = 0; i < static_cast<std::size_t>(locks); ++i) drawn.push_back(from[i % from.size()]);
  return drawn;
}

}  // namespace chaos
