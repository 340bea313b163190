// SPDX-License-Identifier: Apache-2.0
#include "history.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <fstream>
#include <stdexcept>
#include <utility>

namespace chaos {

namespace {

constexpr std::array<std::pair<event_kind, std::string_view>, 22> names{{
    {event_kind::note, "note"},         {event_kind::opened, "opened"},   {event_kind::closed, "closed"},
    {event_kind::family, "family"},     {event_kind::waits, "waits"},     {event_kind::refused, "refused"},
    {event_kind::queued, "queued"},     {event_kind::left, "left"},       {event_kind::failed, "failed"},
    {event_kind::missed, "missed"},     {event_kind::granted, "granted"}, {event_kind::held, "held"},
    {event_kind::entered, "entered"},   {event_kind::wrote, "wrote"},     {event_kind::weakens, "weakens"},
    {event_kind::stopped, "stopped"},   {event_kind::lost, "lost"},       {event_kind::unlocks, "unlocks"},
    {event_kind::killed, "killed"},     {event_kind::crashed, "crashed"}, {event_kind::hung, "hung"},
    {event_kind::leftover, "leftover"},
}};

event_kind parse_kind(std::string_view text) {
  for (const auto& [kind, name] : names) {
    if (name == text) return kind;
  }
  throw std::invalid_argument{fmt::format("no such event: '{}'", text)};
}

std::string_view next_word(std::string_view& line, char separator = ' ') noexcept {
  const auto end = line.find(separator);
  const auto word = line.substr(0, end);
  line = end == std::string_view::npos ? std::string_view{} : line.substr(end + 1);
  return word;
}

template <class Number>
Number parse_number(std::string_view text) {
  Number number{};
  const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (failure != std::errc{} || end != text.data() + text.size()) {
    throw std::invalid_argument{fmt::format("not a number: '{}'", text)};
  }
  return number;
}

clock::time_point parse_time(std::string_view text) {
  return clock::time_point{clock::duration{parse_number<clock::rep>(text)}};
}

/// No line breaks inside a record.
std::string one_line(std::string text) {
  std::replace(text.begin(), text.end(), '\n', ' ');
  return text;
}

template <class Take>
void for_each_line(const std::filesystem::path& file, Take take) {
  std::ifstream input{file};
  std::string line;
  for (int number = 1; std::getline(input, line); ++number) {
    if (input.eof()) return;  // cut short: its writer was killed
    try {
      take(line);
    } catch (const std::exception& failure) {
      throw std::runtime_error{fmt::format("{}:{}: {}", file.string(), number, failure.what())};
    }
  }
}

}  // namespace

std::string_view to_string(event_kind kind) noexcept {
  for (const auto& [known, name] : names) {
    if (known == kind) return name;
  }
  return "?";
}

std::string_view process_of(std::string_view who) noexcept { return who.substr(0, who.find('/')); }

std::string_view thread_of(std::string_view who) noexcept { return who.substr(0, who.rfind('/')); }

family history::family_of(int lock) const noexcept {
  const auto found = families.find(lock);
  return found == families.end() ? family::mutex : found->second;
}

std::string to_line(const event& what) {
  return fmt::format("{} {} {} {} {} {} {} {}", what.at.time_since_epoch().count(), what.who, to_string(what.kind),
                     what.lock, to_string(what.how), latchkey::to_string(what.token), what.session,
                     one_line(what.text));
}

std::string to_line(const fault& what) {
  return fmt::format("{} {} {} {}|{}", what.begin.time_since_epoch().count(), what.end.time_since_epoch().count(),
                     what.lock >= 0      ? fmt::format("node-of-{}", what.lock)
                     : what.from_outside ? "outside"
                                         : "inside",
                     what.kind, what.victim);
}

event parse_event(std::string_view line) {
  event what;
  what.at = parse_time(next_word(line));
  what.who = next_word(line);
  what.kind = parse_kind(next_word(line));
  what.lock = parse_number<int>(next_word(line));
  what.how = parse_access(next_word(line));
  what.token = latchkey::parse_fencing_token(next_word(line));
  what.session = parse_number<std::int64_t>(next_word(line));
  what.text = line;
  return what;
}

fault parse_fault(std::string_view line) {
  fault what;
  what.begin = parse_time(next_word(line));
  what.end = parse_time(next_word(line));
  constexpr std::string_view of_node = "node-of-";
  const auto where = next_word(line);
  what.from_outside = where != "inside";
  if (where.starts_with(of_node)) what.lock = parse_number<int>(where.substr(of_node.size()));
  what.kind = next_word(line, '|');
  what.victim = line;
  return what;
}

history load(const std::filesystem::path& folder) {
  history all;
  for (const auto& entry : std::filesystem::directory_iterator{folder}) {
    const auto& file = entry.path();
    if (file.extension() == ".events") {
      for_each_line(file, [&](std::string_view line) { all.events.push_back(parse_event(line)); });
    } else if (file.extension() == ".faults") {
      for_each_line(file, [&](std::string_view line) { all.faults.push_back(parse_fault(line)); });
    }
  }
  std::stable_sort(all.events.begin(), all.events.end(), [](const event& a, const event& b) { return a.at < b.at; });
  std::stable_sort(all.faults.begin(), all.faults.end(),
                   [](const fault& a, const fault& b) { return a.begin < b.begin; });
  for (const auto& what : all.events) {
    all.locks = std::max(all.locks, what.lock + 1);
    if (what.kind == event_kind::family) all.families[what.lock] = parse_family(what.text);
  }
  return all;
}

}  // namespace chaos
