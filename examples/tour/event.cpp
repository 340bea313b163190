// SPDX-License-Identifier: Apache-2.0
#include "event.hpp"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <stdexcept>
#include <utility>

namespace tour {

namespace {

constexpr std::array<std::pair<event_kind, std::string_view>, 12> names{{
    {event_kind::note, "note"},
    {event_kind::waits, "waits"},
    {event_kind::granted, "granted"},
    {event_kind::reads, "reads"},
    {event_kind::writes, "writes"},
    {event_kind::held_until, "held_until"},
    {event_kind::released, "released"},
    {event_kind::stop_requested, "stop_requested"},
    {event_kind::lost, "lost"},
    {event_kind::accepted, "accepted"},
    {event_kind::refused, "refused"},
    {event_kind::failed, "failed"},
}};

event_kind parse_kind(std::string_view text) {
  for (const auto& [kind, name] : names) {
    if (name == text) return kind;
  }
  throw std::invalid_argument{fmt::format("no such event: '{}'", text)};
}

}  // namespace

std::string_view to_string(event_kind kind) noexcept {
  for (const auto& [known, name] : names) {
    if (known == kind) return name;
  }
  return "?";
}

std::string to_line(const event& what) {
  std::string text = what.text;
  for (char& letter : text) {
    if (letter == '\n') letter = ' ';
  }
  return fmt::format("{} {} {} {} {} {}", what.at.time_since_epoch().count(), what.who, to_string(what.kind),
                     what.token ? latchkey::to_string(*what.token) : "-", what.session, text);
}

event parse_event(std::string_view line) {
  event what;
  what.at = clock::time_point{clock::duration{parse_number(next_word(line))}};
  what.who = next_word(line);
  what.kind = parse_kind(next_word(line));
  if (const auto token = next_word(line); token != "-") what.token = latchkey::parse_fencing_token(token);
  what.session = parse_number(next_word(line));
  what.text = line;
  return what;
}

std::string_view next_word(std::string_view& line) noexcept {
  const auto end = line.find(' ');
  const auto word = line.substr(0, end);
  line = end == std::string_view::npos ? std::string_view{} : line.substr(end + 1);
  return word;
}

std::int64_t parse_number(std::string_view text) {
  std::int64_t number = 0;
  const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (failure != std::errc{} || end != text.data() + text.size()) {
    throw std::invalid_argument{fmt::format("not a number: '{}'", text)};
  }
  return number;
}

}  // namespace tour
