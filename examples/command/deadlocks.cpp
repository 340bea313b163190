// SPDX-License-Identifier: Apache-2.0
#include "deadlocks.hpp"

#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace command {
namespace {

using latchkey::contender;
using session = std::int64_t;

/// One place that waits.
struct wait {
  const queue* of;
  const contender* who;
  std::set<session> all_of;  // these sessions must go on first,
  std::set<session> any_of;  // and one of these, if there are any
};

bool stands_in_the_way(const contender& ahead, const contender& who) {
  return who.what != contender::kind::read || ahead.what != contender::kind::read;
}

/// @returns what waits in a queue, whose contenders are in its order.
std::vector<wait> waits_of(const queue& of) {
  std::vector<wait> all;
  for (auto who = of.contenders.begin(); who != of.contenders.end(); ++who) {
    if (who->holds || who->permanent()) continue;
    wait one{&of, &*who, {}, {}};
    for (auto ahead = of.contenders.begin(); ahead != who; ++ahead) {
      if (ahead->session == who->session || !stands_in_the_way(*ahead, *who)) continue;
      const bool is_permit = ahead->holds && ahead->what == contender::kind::permit;
      (is_permit ? one.any_of : one.all_of).insert(ahead->session);
    }
    all.push_back(std::move(one));
  }
  return all;
}

/// The sessions that may go on, and with them those that wait for them only, and so on. @returns the others.
std::set<session> stuck(const std::vector<wait>& all) {
  std::set<session> waiting;
  for (const auto& each : all) waiting.insert(each.who->session);
  const auto goes_on = [&](session which) { return !waiting.contains(which); };
  for (bool changed = true; changed;) {
    changed = false;
    for (auto at = waiting.begin(); at != waiting.end();) {
      const bool free = std::all_of(all.begin(), all.end(), [&](const wait& each) {
        if (each.who->session != *at) return true;
        return std::all_of(each.all_of.begin(), each.all_of.end(), goes_on) &&
               (each.any_of.empty() || std::any_of(each.any_of.begin(), each.any_of.end(), goes_on));
      });
      at = free ? waiting.erase(at) : std::next(at);
      changed = changed || free;
    }
  }
  return waiting;
}

using edges = std::map<session, std::set<session>>;

/// @returns all that can be reached from `from`, along the edges.
std::set<session> reached(const edges& all, session from) {
  std::set<session> seen;
  std::vector<session> open{from};
  while (!open.empty()) {
    const auto next = all.find(open.back());
    open.pop_back();
    if (next == all.end()) continue;
    for (const auto each : next->second) {
      if (seen.insert(each).second) open.push_back(each);
    }
  }
  return seen;
}

/// @returns the sets of sessions of which each can be reached from each other one.
std::vector<std::set<session>> components(const edges& all) {
  std::map<session, std::set<session>> from;
  for (const auto& [each, unused] : all) from[each] = reached(all, each);
  std::vector<std::set<session>> found;
  std::set<session> done;
  for (const auto& [each, others] : from) {
    if (!others.contains(each) || done.contains(each)) continue;
    std::set<session> one;
    for (const auto other : others) {
      if (from.contains(other) && from[other].contains(each)) one.insert(other);
    }
    done.insert(one.begin(), one.end());
    found.push_back(std::move(one));
  }
  return found;
}

/// @returns one of its places, which tells whose session it is.
const contender* any_place_of(const waiting_session& who) {
  const auto& any = who.waits.empty() ? who.holds : who.waits;
  return any.empty() ? nullptr : &any.front().who;
}

nlohmann::ordered_json list_of(const std::vector<place_of>& all) {
  auto list = nlohmann::ordered_json::array();
  for (const auto& each : all) list.push_back({{"path", each.path}, {"node", each.who.node}});
  return list;
}

}  // namespace

std::vector<circle> circles_of(const std::vector<queue>& all) {
  std::vector<wait> waits;
  for (const auto& each : all) {
    auto some = waits_of(each);
    std::move(some.begin(), some.end(), std::back_inserter(waits));
  }
  const auto left = stuck(waits);
  edges between;
  for (const auto& each : waits) {
    if (!left.contains(each.who->session)) continue;
    for (const auto* const those : {&each.all_of, &each.any_of}) {
      for (const auto other : *those) {
        if (left.contains(other)) between[each.who->session].insert(other);
      }
    }
  }
  std::vector<circle> found;
  for (const auto& members : components(between)) {
    std::map<session, waiting_session> of;
    for (const auto each : members) of[each].id = each;
    for (const auto& each : waits) {
      if (!members.contains(each.who->session)) continue;
      bool for_a_member = false;
      for (const auto& ahead : each.of->contenders) {
        if (&ahead == each.who) break;
        if (ahead.session == each.who->session || !members.contains(ahead.session) ||
            !stands_in_the_way(ahead, *each.who))
          continue;
        for_a_member = true;
        auto& holds = of[ahead.session].holds;
        const bool is_there = std::any_of(holds.begin(), holds.end(), [&](const place_of& one) {
          return one.path == each.of->path && one.who.node == ahead.node;
        });
        if (!is_there) holds.push_back({each.of->path, ahead});
      }
      if (for_a_member) of[each.who->session].waits.push_back({each.of->path, *each.who});
    }
    circle one;
    for (auto& [id, who] : of) one.push_back(std::move(who));
    found.push_back(std::move(one));
  }
  return found;
}

std::vector<queue> unchanged(const std::vector<queue>& before, std::vector<queue> now) {
  std::map<std::pair<std::string, std::string>, bool> held;
  for (const auto& each : before) {
    for (const auto& who : each.contenders) held[{each.path, who.node}] = who.holds;
  }
  for (auto& each : now) {
    std::erase_if(each.contenders, [&](const contender& who) {
      const auto then = held.find({each.path, who.node});
      return then == held.end() || then->second != who.holds;
    });
  }
  return now;
}

std::string text_of(const std::vector<circle>& all, wall_time now) {
  std::string text;
  for (const auto& each : all) {
    text += fmt::format("a possible deadlock of {} sessions:\n", each.size());
    for (const auto& who : each) {
      const auto* const any = any_place_of(who);
      text += fmt::format("  {}  session 0x{:x}\n", any ? name_of(*any) : "-", static_cast<std::uint64_t>(who.id));
      const auto line = [&](const char* what, const place_of& place) {
        const auto since = std::chrono::duration_cast<std::chrono::milliseconds>(now - place.who.since);
        text += fmt::format("    {} {}  {}  for {}  {}\n", what, printable(place.path),
                            latchkey::to_string(place.who.what), age_of(since), printable(place.who.node));
      };
      for (const auto& place : who.holds) line(place.who.holds ? "holds    " : "is before", place);
      for (const auto& place : who.waits) line("waits for", place);
    }
  }
  return text;
}

std::string json_of(const circle& one) {
  auto sessions = nlohmann::ordered_json::array();
  for (const auto& who : one) {
    sessions.push_back({{"session", fmt::format("0x{:x}", static_cast<std::uint64_t>(who.id))},
                        {"name", any_place_of(who) ? name_of(*any_place_of(who)) : std::string{}},
                        {"holds", list_of(who.holds)},
                        {"waits", list_of(who.waits)}});
  }
  const nlohmann::ordered_json object{{"sessions", std::move(sessions)}};
  return object.dump(-1, ' ', true, nlohmann::ordered_json::error_handler_t::replace) + '\n';
}

}  // namespace command
