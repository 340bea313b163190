// SPDX-License-Identifier: Apache-2.0
#include "show.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <iterator>

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace command {
namespace {

using json = nlohmann::ordered_json;
using latchkey::contender;

/// What `ask_to_release` writes over the data of a node.
constexpr std::string_view release_request = "__REVOKE__";

/// The longest name in text.
constexpr std::size_t most_bytes_of_name = 64;

struct character {
  std::size_t bytes = 1;
  bool printable = false;
};

/// @returns the first character of a text in UTF-8; one byte that is not printable if it is none.
character first_of(std::string_view text) {
  const auto byte = [&](std::size_t at) { return static_cast<std::uint32_t>(static_cast<unsigned char>(text[at])); };
  const auto lead = byte(0);
  if (lead < 0x80) return {1, lead >= 0x20 && lead < 0x7f};
  const std::size_t bytes = lead < 0xc2 ? 0 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : lead < 0xf5 ? 4 : 0;
  if (bytes == 0 || bytes > text.size()) return {};
  auto code = lead & (0x7fu >> bytes);
  for (std::size_t at = 1; at < bytes; ++at) {
    if ((byte(at) & 0xc0) != 0x80) return {};
    code = code << 6 | (byte(at) & 0x3f);
  }
  constexpr std::array<std::uint32_t, 5> least{0, 0, 0x80, 0x800, 0x10000};
  const bool valid = code >= least[bytes] && code <= 0x10ffff && (code < 0xd800 || code > 0xdfff);
  if (!valid) return {};
  const bool control = code < 0xa0;
  const bool separates_or_turns = code == 0x061c || (code >= 0x200b && code <= 0x200f) ||
                                  (code >= 0x2028 && code <= 0x202e) || (code >= 0x2060 && code <= 0x206f) ||
                                  code == 0xfeff;
  return {bytes, !control && !separates_or_turns};
}

/// @returns how many columns a terminal needs: one a character.
std::size_t width_of(std::string_view text) {
  return static_cast<std::size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; }));
}

std::string shortened(std::string_view text) {
  if (text.size() <= most_bytes_of_name) return printable(text);
  return printable(text.substr(0, most_bytes_of_name)) + "...";
}

std::chrono::milliseconds since(wall_time then, wall_time now) {
  return std::chrono::duration_cast<std::chrono::milliseconds>(now - then);
}

/// @returns UTC, ISO 8601.
std::string time_of(wall_time when, bool fraction) {
  const auto ms = std::chrono::floor<std::chrono::milliseconds>(when);
  const auto seconds = std::chrono::floor<std::chrono::seconds>(ms);
  const auto text = fmt::format("{:%FT%T}", fmt::gmtime(std::chrono::system_clock::to_time_t(seconds)));
  return fraction ? fmt::format("{}.{:03}Z", text, (ms - seconds).count()) : text + "Z";
}

std::string session_of(std::int64_t id) { return fmt::format("0x{:x}", static_cast<std::uint64_t>(id)); }
std::string session_of(const contender& who) { return session_of(who.session); }

using row = std::vector<std::string>;

/// @returns the rows as lines, their columns aligned and two spaces apart.
std::string table_of(const std::vector<row>& rows, std::string_view indent) {
  std::vector<std::size_t> widths;
  for (const auto& each : rows) {
    widths.resize(std::max(widths.size(), each.size()));
    for (std::size_t i = 0; i < each.size(); ++i) widths[i] = std::max(widths[i], width_of(each[i]));
  }
  std::string text;
  for (const auto& each : rows) {
    text += indent;
    for (std::size_t i = 0; i < each.size(); ++i) {
      text += each[i];
      if (i + 1 < each.size()) text.append(widths[i] - width_of(each[i]) + 2, ' ');
    }
    text += '\n';
  }
  return text;
}

/// @returns what is invalid in UTF-8 replaced, and everything beyond ASCII escaped.
std::string dumped(const json& object) { return object.dump(-1, ' ', true, json::error_handler_t::replace); }
std::string line_of(const json& object) { return dumped(object) + '\n'; }

/// @returns what its name and its place tell.
json object_of_unread(const contender& who) {
  return {{"node", who.node}, {"what", latchkey::to_string(who.what)}, {"holds", who.holds}};
}

json object_of(const contender& who) {
  auto all = object_of_unread(who);
  all.update({{"label", who.label},
              {"host", who.host},
              {"pid", who.pid},
              {"since", time_of(who.since, true)},
              {"session", session_of(who)},
              {"permanent", who.permanent()},
              {"data", who.data},
              {"data_cut", who.data_cut}});
  return all;
}

/// @returns what has become of a contender: "+holds", say.
const char* name_of(queue_change::kind what, bool holds) {
  using kind = queue_change::kind;
  switch (what) {
    case kind::there:
      return holds ? "=holds" : "=waits";
    case kind::waits:
      return "+waits";
    case kind::holds:
      return "+holds";
    case kind::stops_waiting:
      return "-waits";
    case kind::stops_holding:
      return "-holds";
  }
  return "";
}

json object_of(const latchkey::found_lock& one) {
  return {{"path", one.path}, {"contenders", one.contenders}, {"semaphore", one.semaphore}};
}

row row_of(const contender& who) {
  return {who.holds ? "HOLDS" : "waits",
          std::string{latchkey::to_string(who.what)},
          command::name_of(who),
          "since " + time_of(who.since, false),
          who.permanent() ? "no session" : "session " + session_of(who),
          printable(who.node)};
}

json object_of(const latchkey::dead_owner& who) {
  json all{{"label", who.label},
           {"host", who.host},
           {"pid", who.pid},
           {"session", session_of(who.session)},
           {"since", time_of(who.since, true)},
           {"fence", to_string(who.fence)}};
  if (who.why) all["why"] = latchkey::to_string(*who.why);
  return all;
}

std::string sentence_about(const latchkey::dead_owner& who) {
  const auto name = who.label.empty() ? std::string{"somebody, whose record says nothing"}
                                      : fmt::format("{}@{} pid {}, who had it since {}", shortened(who.label),
                                                    shortened(who.host), who.pid, time_of(who.since, false));
  return fmt::format("  NOT UNLOCKED by {}{}: what the lock protects may be half changed\n", name,
                     who.why ? fmt::format(" ({})", latchkey::to_string(*who.why)) : "");
}

/// @returns how the lock is held.
std::string summary_of(const queue& of, wall_time now) {
  std::string text = "not held";
  const bool read = !of.contenders.empty() && of.contenders.front().holds;
  const auto held_for = read ? " for " + age_of(since(of.contenders.front().since, now)) : std::string{};
  if (of.holders == 1) text = "held" + held_for;
  if (of.holders > 1) text = fmt::format("held by {}{}", of.holders, read ? ", the first" + held_for : "");
  if (of.holders > 0 || of.waiters > 0) text += fmt::format(", {} waiting", of.waiters);
  return text;
}

}  // namespace

queue queue_of(const latchkey::queue_snapshot& seen) {
  return {.path = seen.path(),
          .contenders = {seen.contenders().begin(), seen.contenders().end()},
          .holders = seen.holder_count(),
          .waiters = seen.waiter_count()};
}

std::string printable_sentence(std::string_view text) {
  std::string safe;
  while (!text.empty()) {
    const auto next = first_of(text);
    const auto bytes = text.substr(0, next.bytes);
    text.remove_prefix(next.bytes);
    if (!next.printable) {
      for (const char each : bytes)
        fmt::format_to(std::back_inserter(safe), "\\x{:02x}", static_cast<unsigned char>(each));
    } else {
      safe += bytes;
    }
  }
  return safe;
}

std::string printable(std::string_view text) {
  std::string doubled;
  for (const char each : text) doubled.append(each == '\\' ? 2 : 1, each);
  return printable_sentence(doubled);
}

std::string age_of(std::chrono::milliseconds time) {
  const auto ms = std::max<std::int64_t>(time.count(), 0);
  const auto s = ms / 1000;
  if (ms < 1000) return fmt::format("{}ms", ms);
  if (s < 60) return fmt::format("{}s", s);
  if (s < 60 * 60) return fmt::format("{}m{:02}s", s / 60, s % 60);
  if (s < 24 * 60 * 60) return fmt::format("{}h{:02}m", s / (60 * 60), s / 60 % 60);
  return fmt::format("{}d{:02}h", s / (24 * 60 * 60), s / (60 * 60) % 24);
}

std::string name_of(const contender& who) {
  std::string name = "(says nothing)";
  if (!who.label.empty()) {
    name = fmt::format("{}@{} pid {}", shortened(who.label), shortened(who.host), who.pid);
  } else if (who.data == release_request) {
    name = "(asked to release)";
  } else if (!who.data.empty()) {
    name = shortened(who.data);
  }
  return who.permanent() ? name + " (foreign, permanent)" : name;
}

std::string text_of(const contender& who) { return table_of({row_of(who)}, "  "); }

std::string text_of(const queue& of, wall_time now) {
  std::vector<row> rows;
  for (const auto& who : of.contenders) rows.push_back(row_of(who));
  auto text = fmt::format("{}: {}\n", printable(of.path), summary_of(of, now)) + table_of(rows, "  ");
  if (const auto all = of.holders + of.waiters; all > rows.size())
    text += fmt::format("  and {} more\n", all - rows.size());
  if (of.abandoned) text += sentence_about(*of.abandoned);
  return text;
}

std::string text_of(const std::vector<listed_lock>& all, wall_time now) {
  std::vector<row> rows;
  for (const auto& [lock, first] : all) {
    row cells{printable(lock.path), lock.semaphore ? "permit" : "-", "-", "not held"};
    if (!first.contenders.empty()) {
      const auto& who = first.contenders.front();
      if (!lock.semaphore) cells[1] = latchkey::to_string(who.what);
      if (who.holds) {
        cells[2] = name_of(who);
        if (first.holders > 1) cells[2] += fmt::format(" and {} more", first.holders - 1);
        cells[3] = "held for " + age_of(since(who.since, now));
      }
    }
    cells.push_back(fmt::format("{} waiting", first.waiters));
    rows.push_back(std::move(cells));
  }
  return table_of(rows, "");
}

std::string text_of(const latchkey::leader_sighting& seen) {
  if (!seen.known) return "it is not known who leads\n";
  if (!seen.who) return "no candidate leads\n";
  const auto id = seen.who->id.empty() ? std::string{"(says nothing)"} : printable(seen.who->id);
  return fmt::format("{}  term {}\n", id, latchkey::to_string(seen.who->term));
}

std::string text_of_change(const latchkey::leader_sighting& seen, wall_time now) {
  return time_of(now, true) + "  " + text_of(seen);
}

std::string text_of(const queue_change& what, wall_time now) {
  const auto after = what.after ? "  after " + age_of(*what.after) : std::string{};
  return fmt::format("{}  {}  {:6}  {}{}  {}\n", time_of(now, true), name_of(what.what, what.who.holds),
                     latchkey::to_string(what.who.what), what.read ? name_of(what.who) : "(not read)", after,
                     printable(what.who.node));
}

std::string text_of_not_known(wall_time now) { return time_of(now, true) + "  the queue is not known\n"; }

std::string json_of(const latchkey::dead_owner& who) { return dumped(object_of(who)); }

std::string json_of(const queue& of) {
  auto contenders = json::array();
  for (const auto& who : of.contenders) contenders.push_back(object_of(who));
  return line_of({{"path", of.path},
                  {"holders", of.holders},
                  {"waiters", of.waiters},
                  {"contenders", std::move(contenders)},
                  {"abandoned", of.abandoned ? object_of(*of.abandoned) : json{}}});
}

std::string json_of(const listed_lock& one) {
  auto object = object_of(one.lock);
  object["holders"] = one.first.holders;
  object["waiters"] = one.first.waiters;
  const auto& read = one.first.contenders;
  object["holder"] = !read.empty() && read.front().holds ? object_of(read.front()) : json{};
  return line_of(object);
}

std::string json_of(const latchkey::found_lock& one) { return line_of(object_of(one)); }

std::string json_of(const std::string& path, const latchkey::leader_sighting& seen) {
  json who;
  if (seen.who) who = {{"id", seen.who->id}, {"term", latchkey::to_string(seen.who->term)}};
  return line_of({{"path", path}, {"known", seen.known}, {"who", std::move(who)}});
}

std::string json_of(const std::string& path, const queue_change& what, wall_time now) {
  return line_of({{"path", path},
                  {"at", time_of(now, true)},
                  {"known", true},
                  {"change", name_of(what.what, what.who.holds)},
                  {"after_ms", what.after ? json(what.after->count()) : json{}},
                  {"contender", what.read ? object_of(what.who) : object_of_unread(what.who)}});
}

std::string json_of_not_known(const std::string& path, wall_time now) {
  return line_of({{"path", path}, {"at", time_of(now, true)}, {"known", false}});
}

std::string json_of(const latchkey::sequencer& what, bool valid) {
  return line_of({{"valid", valid},
                  {"node", what.node},
                  {"token", latchkey::to_string(what.token)},
                  {"exclusive", latchkey::is_exclusive(what)}});
}

std::string json_of_asking(const queue& of, std::size_t asked, bool moved) {
  auto holders = nlohmann::ordered_json::array();
  for (const auto& who : of.contenders) {
    if (who.holds) holders.push_back(object_of(who));
  }
  return line_of({{"path", of.path}, {"asked", asked}, {"moved", moved}, {"holders", holders}});
}

std::string json_of_eviction(const std::string& path, const contender& who, bool evicted) {
  return line_of({{"path", path}, {"evicted", evicted}, {"contender", object_of(who)}});
}

}  // namespace command
