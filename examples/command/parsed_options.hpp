// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Options whose values this program reads itself: what CLI11 says of a wrong one is for programmers.

#include <CLI/CLI.hpp>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <limits>
#include <stdexcept>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include <latchkey/settings.hpp>

#include "connection.hpp"
#include "exit_code.hpp"
#include "show.hpp"

namespace command {

inline constexpr int most_int = std::numeric_limits<int>::max();

/// An option whose value `parse` makes of a text. What it throws gets the name of the option.
template <class Member, class Parse>
CLI::Option* add_parsed(CLI::App& to, const std::string& name, Member& member, const std::string& text, Parse parse) {
  const auto take = [&member, parse, option = name.substr(name.find("--"))](const std::string& given) {
    try {
      member = parse(given);
    } catch (const std::invalid_argument& wrong) {
      throw usage_error{fmt::format("{}: {}", option, wrong.what())};
    }
  };
  return to.add_option_function<std::string>(name, take, text);
}

template <class Member>
void add_duration(CLI::App& to, const std::string& name, Member& member, const std::string& text,
                  std::chrono::milliseconds most = longest_duration) {
  add_parsed(to, name, member, text, [most](const std::string& given) {
    return latchkey::parse_duration(given, most);
  })->type_name("DURATION");
}

/// An option with a number as its value.
template <class Member>
void add_number(CLI::App& to, const std::string& name, Member& member, const std::string& text, int least, int most) {
  add_parsed(to, name, member, text, [least, most](const std::string& given) {
    int number = 0;
    const auto* const end = given.data() + given.size();
    const auto read = std::from_chars(given.data(), end, number);
    if (read.ec != std::errc{} || read.ptr != end || number < least || number > most) {
      throw usage_error{fmt::format("\"{}\" is no number from {} to {}", printable(given), least, most)};
    }
    return static_cast<Member>(number);
  })->type_name("N");
}

/// An option with one of some words as its value.
template <class Member>
void add_choice(CLI::App& to, const std::string& name, Member& member, const std::string& text,
                const std::vector<std::pair<std::string, Member>>& words) {
  std::string names;
  for (const auto& each : words) names += (names.empty() ? "" : "|") + each.first;
  add_parsed(to, name, member, text, [words](const std::string& given) {
    const auto found = std::find_if(words.begin(), words.end(), [&](const auto& each) { return each.first == given; });
    if (found != words.end()) return found->second;
    std::string all;
    for (const auto& each : words) all += (all.empty() ? "" : &each == &words.back() ? " or " : ", ") + each.first;
    throw usage_error{fmt::format("\"{}\" is none of them; write {}", printable(given), all)};
  })->type_name(names);
}

}  // namespace command
