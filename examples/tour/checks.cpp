// SPDX-License-Identifier: Apache-2.0
#include "checks.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>

namespace tour {

namespace {

using latchkey::fencing_token;

struct period {
  std::string who;
  event_kind kind;
  fencing_token token;
  clock::time_point from;
  clock::time_point until;
};

/// @returns the periods of the grants of these kinds, in the order of their beginnings.
std::vector<period> periods_of(const std::vector<event>& events, const std::set<event_kind>& kinds) {
  std::vector<period> all;
  for (const auto& what : events) {
    if (kinds.contains(what.kind)) all.push_back({what.who, what.kind, *what.token, what.at, what.at});
    if (what.kind != event_kind::held_until) continue;
    for (auto& one : all) {
      if (one.who == what.who && one.token == *what.token) one.until = std::max(one.until, what.at);
    }
  }
  std::stable_sort(all.begin(), all.end(), [](const period& a, const period& b) { return a.from < b.from; });
  return all;
}

void check_exclusion(const std::vector<period>& all, summary& result) {
  const period* latest = nullptr;  // of those so far, the one that ends last
  for (const auto& one : all) {
    if (latest != nullptr && one.from < latest->until) {
      ++result.overlaps;
      const auto both = std::chrono::duration<double, std::milli>{std::min(one.until, latest->until) - one.from};
      result.complaints.push_back(
          fmt::format("{} and {} held the lock at the same time, for {:.3f} ms", latest->who, one.who, both.count()));
    }
    if (latest == nullptr || one.until > latest->until) latest = &one;
  }
}

void check_tokens(const std::vector<period>& all, summary& result) {
  for (std::size_t i = 1; i < all.size(); ++i) {
    if (all[i - 1].token < all[i].token) continue;
    ++result.tokens_backwards;
    result.complaints.push_back(fmt::format("the token of {} is not larger than the one before it, of {}: {} after {}",
                                            all[i].who, all[i - 1].who, to_string(all[i].token),
                                            to_string(all[i - 1].token)));
  }
}

/// Readers may be together, a writer is alone; its token is larger than those of all before it, and a reader's than
/// those of the writers before it.
void check_read_write(const std::vector<period>& all, summary& result) {
  for (std::size_t i = 0; i < all.size(); ++i) {
    std::size_t readers = 0;
    for (std::size_t j = 0; j <= i; ++j) {
      const bool both_read = all[i].kind == event_kind::reads && all[j].kind == event_kind::reads;
      const bool together = i == j || all[i].from < all[j].until;
      if (both_read && together) ++readers;
      if (i == j || both_read) continue;
      check_exclusion({all[j], all[i]}, result);
      check_tokens({all[j], all[i]}, result);
    }
    result.readers_at_once = std::max(result.readers_at_once, readers);
  }
}

void measure_waits(const std::vector<event>& events, summary& result) {
  std::map<std::string, clock::time_point> waiting;
  for (const auto& what : events) {
    if (what.kind == event_kind::waits) waiting[what.who] = what.at;
    if (what.kind != event_kind::granted) continue;
    const auto since = waiting.find(what.who);
    if (since == waiting.end()) continue;
    const auto time = std::chrono::duration_cast<std::chrono::milliseconds>(what.at - since->second);
    if (time < result.longest_wait) continue;
    result.longest_wait = time;
    result.who_waited_longest = what.who;
  }
}

void count_hand_overs(const std::vector<event>& events, const std::vector<period>& all, summary& result) {
  for (const auto& what : events) {
    if (what.kind != event_kind::lost) continue;
    ++result.lost;
    const auto next = std::find_if(all.begin(), all.end(), [&](const period& p) { return *what.token < p.token; });
    if (next != all.end() && process_of(next->who) != process_of(what.who)) ++result.handed_over;
  }
}

}  // namespace

summary summarise(const std::vector<event>& events) {
  summary result;
  const auto all = periods_of(events, {event_kind::granted});
  result.grants = all.size();
  check_exclusion(all, result);
  check_tokens(all, result);
  const auto of_read_write = periods_of(events, {event_kind::reads, event_kind::writes});
  result.grants += of_read_write.size();
  check_read_write(of_read_write, result);
  measure_waits(events, result);
  count_hand_overs(events, all, result);
  for (const auto& what : events) {
    if (what.kind == event_kind::accepted) ++result.accepted;
    if (what.kind == event_kind::refused) ++result.refused;
    if (what.kind == event_kind::failed) result.complaints.push_back(what.who + ": " + what.text);
  }
  return result;
}

std::string to_text(const summary& result) {
  std::string text = fmt::format(
      "grants                {:>6}\n"
      "overlaps              {:>6}   (two holders at once, other than readers)\n"
      "readers at once       {:>6}\n"
      "tokens gone backwards {:>6}\n"
      "writes accepted       {:>6}\n"
      "writes refused        {:>6}   (with the token of a lost grant)\n"
      "grants lost           {:>6}\n"
      "hand-overs after loss {:>6}   (to another process)\n"
      "longest wait          {:>6}   ms{}\n",
      result.grants, result.overlaps, result.readers_at_once, result.tokens_backwards, result.accepted, result.refused,
      result.lost, result.handed_over, result.longest_wait.count(),
      result.who_waited_longest.empty() ? "" : ", of " + result.who_waited_longest);
  for (const auto& complaint : result.complaints) text += "FAILED: " + complaint + '\n';
  return text;
}

}  // namespace tour
