// SPDX-License-Identifier: Apache-2.0
#include "summary.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <string_view>
#include <utility>

#include "exclusion.hpp"
#include "periods.hpp"
#include "recovery.hpp"

namespace chaos {

namespace {

double seconds(clock::duration time) { return std::chrono::duration<double>{time}.count(); }

template <class Counts>
std::string list(const Counts& counts) {
  std::string text;
  for (const auto& [name, count] : counts) text += fmt::format("{}{} {}", text.empty() ? "" : ", ", name, count);
  return text.empty() ? "none" : text;
}

struct numbers {
  std::size_t processes = 0;
  std::size_t looks = 0;
  std::size_t reentries = 0;
  std::size_t late_writes = 0;
  std::size_t refused_writes = 0;
  std::size_t stop_callbacks = 0;
  std::map<std::string, int> losses;
  std::size_t missed = 0;
};

numbers count(const history& all) {
  numbers result;
  std::map<int, latchkey::fencing_token> largest;
  std::set<std::string> losers;
  for (const auto& what : all.events) {
    if (what.kind == event_kind::opened) ++result.processes;
    if (what.kind == event_kind::granted || what.kind == event_kind::held) ++result.looks;
    if (what.kind == event_kind::missed) ++result.missed;
    if (what.kind == event_kind::entered) ++result.reentries;
    if (what.kind == event_kind::stopped) ++result.stop_callbacks;
    if (what.kind == event_kind::lost) ++result.losses[what.text], losers.insert(what.who);
    if (what.kind == event_kind::waits) losers.erase(what.who);
    if (what.kind != event_kind::wrote) continue;
    if (losers.contains(what.who)) ++result.late_writes;
    auto& of_lock = largest[what.lock];
    what.token < of_lock ? void(++result.refused_writes) : void(of_lock = what.token);
  }
  return result;
}

/// How many holders were killed, and for how long their locks then rested at least.
std::string killed_holders(const std::vector<std::vector<period>>& periods) {
  std::size_t count = 0;
  auto least = clock::duration::max();
  for (const auto& of_lock : periods) {
    for (std::size_t i = 0; i + 1 < of_lock.size(); ++i) {
      const auto& one = of_lock[i];
      if (one.over || one.struck) continue;
      const auto next = std::find_if(of_lock.begin() + static_cast<std::ptrdiff_t>(i) + 1, of_lock.end(),
                                     [&](const period& later) { return one.keeps_out(later); });
      if (next == of_lock.end()) continue;
      ++count;
      least = std::min(least, next->granted - one.valid_until);
    }
  }
  if (count == 0) return "none";
  return fmt::format("{}; the next grant came at least {:.0f} ms after the lease", count, 1e3 * seconds(least));
}

/// How long a lock was not granted after its holder had been killed.
std::string after_deaths(const history& all, const std::vector<std::vector<period>>& periods) {
  std::vector<double> pauses;
  for (const auto& what : all.events) {
    if (what.kind != event_kind::killed) continue;
    for (const auto& of_lock : periods) {
      const auto next =
          std::find_if(of_lock.begin(), of_lock.end(), [&](const period& each) { return each.granted > what.at; });
      const bool held = std::any_of(of_lock.begin(), next,
                                    [&](const period& each) { return !each.over && process_of(each.who) == what.who; });
      if (held && next != of_lock.end()) pauses.push_back(seconds(next->granted - what.at));
    }
  }
  if (pauses.empty()) return "none";
  std::sort(pauses.begin(), pauses.end());
  return fmt::format("{}; next grant after {:.1f} s (median), {:.1f} s at most", pauses.size(),
                     pauses[pauses.size() / 2], pauses.back());
}

/// How many there were, and for how long.
std::string overlaps(const std::vector<std::vector<period>>& periods) {
  std::size_t count = 0;
  clock::duration longest{};
  clock::duration sum{};
  for (const auto& of_lock : periods) {
    for (const auto& each : overlaps_of(of_lock)) {
      ++count;
      longest = std::max(longest, each.length);
      sum += each.length;
    }
  }
  return count == 0 ? "0" : fmt::format("{}; {:.3f} s at most, {:.1f} s in sum", count, seconds(longest), seconds(sum));
}

/// How many read, and how many did so at once.
std::string shared_grants(const std::vector<std::vector<period>>& periods) {
  std::size_t count = 0;
  std::size_t most = 0;
  std::size_t weakened = 0;
  for (const auto& of_lock : periods) {
    std::multiset<clock::time_point> ends;
    for (const auto& one : of_lock) {
      if (one.weakened) ++weakened;
      if (one.how != access::shared) continue;
      ++count;
      ends.erase(ends.begin(), ends.lower_bound(one.granted));
      ends.insert(one.seen);
      most = std::max(most, ends.size());
    }
  }
  return fmt::format("{}, at most {} at once; {} downgrades", count, most, weakened);
}

std::string tickets(const std::vector<call>& calls, const history& all) {
  std::size_t queued = 0;
  for (const auto& one : calls) {
    if (one.what == call::outcome::queued) ++queued;
  }
  std::map<std::string, int> left;
  for (const auto& what : all.events) {
    if (what.kind == event_kind::left) ++left[what.text];
  }
  return fmt::format("{}; {}", queued, list(left));
}

std::string families(const history& all) {
  std::string text;
  for (int lock = 0; lock < all.locks; ++lock) {
    text += fmt::format("{}{}", lock == 0 ? "" : ", ", to_string(all.family_of(lock)));
  }
  return text;
}

}  // namespace

facts facts_of(const history& all, const std::vector<violation>& found, std::uint64_t seed) {
  const auto calls = calls_of(all);
  const auto periods = periods_of(all);
  const auto events = count(all);

  std::size_t grants = 0;
  for (const auto& of_lock : periods) grants += of_lock.size();
  std::map<std::string, int> outcomes;
  clock::duration longest_wait{};
  std::string who_waited;
  for (const auto& one : calls) {
    if (one.what == call::outcome::refused) ++outcomes[one.manner.substr(0, one.manner.find(' '))];
    if (one.what == call::outcome::none || one.end - one.begin <= longest_wait) continue;
    longest_wait = one.end - one.begin;
    who_waited = one.who;
  }
  std::map<std::string, int> faults;
  clock::duration longest_pause{};
  std::string after;
  for (const auto& what : all.faults) {
    ++faults[what.kind];
    for (const auto& of_lock : periods) {
      const auto pause = pause_after(what.end, of_lock, calls);
      if (pause <= longest_pause) continue;
      longest_pause = pause;
      after = fmt::format(", lock {} after '{}'", of_lock.front().lock, what.kind);
    }
  }
  std::map<std::string_view, int> broken;
  for (const auto& what : found) ++broken[to_string(what.which)];

  facts lines;
  const auto line = [&](std::string_view name, std::string value) { lines.emplace_back(name, std::move(value)); };
  line("seed", std::to_string(seed));
  line("duration",
       all.events.empty() ? "0 s" : fmt::format("{:.0f} s", seconds(all.events.back().at - all.events.front().at)));
  line("processes, locks", fmt::format("{}, {}", events.processes, all.locks));
  line("families", families(all));
  line("grants", std::to_string(grants));
  line("shared grants", shared_grants(periods));
  line("tickets", tickets(calls, all));
  line("taken once more", std::to_string(events.reentries));
  line("looks that said held", std::to_string(events.looks));
  line("calls that returned false", list(outcomes));
  line("losses", list(events.losses));
  line("lost before the first look", std::to_string(events.missed));
  line("stop callbacks", std::to_string(events.stop_callbacks));
  line("late writes", fmt::format("{}; the store refused {}", events.late_writes, events.refused_writes));
  line("killed holders", killed_holders(periods));
  line("faults", fmt::format("{}: {}", all.faults.size(), list(faults)));
  line("longest wait", fmt::format("{:.1f} s, of {}", seconds(longest_wait), who_waited));
  line("longest pause after a fault", fmt::format("{:.1f} s{}", seconds(longest_pause), after));
  line("next grant after a death", after_deaths(all, periods));
  const auto early = broken["lease"] == 0 ? "" : fmt::format("; {} grants before the end of a lease", broken["lease"]);
  line("overlaps", overlaps(periods) + early);
  std::erase_if(broken, [](const auto& one) { return one.second == 0; });
  line("verdict", found.empty() ? "clean" : fmt::format("VIOLATED ({})", list(broken)));
  return lines;
}

std::string text_of(const facts& all) {
  std::string text;
  for (const auto& [name, value] : all) text += fmt::format("{:<28}{}\n", name, value);
  return text;
}

namespace {

template <class Columns>
std::string row_of(const facts& all, const Columns& columns) {
  std::string row;
  for (const std::string_view column : columns) {
    const auto at = std::find_if(all.begin(), all.end(), [&](const auto& each) { return each.first == column; });
    row += fmt::format("| {} ", column == "faults" ? at->second.substr(0, at->second.find(':')) : at->second);
  }
  return row + "|\n";
}

}  // namespace

std::string row_of_comparison(std::string_view name, const facts& all) {
  static constexpr std::array columns{
      "seed",   "duration", "grants", "faults", "overlaps", "next grant after a death", "longest pause after a fault",
      "verdict"};
  return fmt::format("| {} ", name) + row_of(all, columns);
}

std::string row_of_report(const facts& all) {
  static constexpr std::array columns{"seed",           "duration",    "families",
                                      "grants",         "faults",      "losses",
                                      "killed holders", "late writes", "longest pause after a fault",
                                      "overlaps",       "verdict"};
  return row_of(all, columns);
}

}  // namespace chaos
