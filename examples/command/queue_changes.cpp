// SPDX-License-Identifier: Apache-2.0
#include "queue_changes.hpp"

#include <algorithm>
#include <utility>

namespace command {
namespace {

std::optional<std::chrono::milliseconds> between(const std::optional<wall_time>& then, wall_time now) {
  if (!then) return std::nullopt;
  return std::chrono::duration_cast<std::chrono::milliseconds>(now - *then);
}

}  // namespace

bool queue_changes::has_strangers(const latchkey::queue_sighting& seen, std::size_t most) const {
  const auto& places = seen.places;
  return std::any_of(places.begin(), places.begin() + static_cast<std::ptrdiff_t>(std::min(most, places.size())),
                     [this](const auto& each) { return !all_.contains(each.node) && !read_.contains(each.node); });
}

void queue_changes::learn(const latchkey::queue_snapshot& read) {
  read_.clear();
  for (const auto& each : read.contenders()) read_.emplace(each.node, each);
}

queue_changes::entry queue_changes::entry_of(const latchkey::queue_place& place) const {
  const auto found = read_.find(place.node);
  entry one{.who = {}, .read = found != read_.end()};
  if (one.read) one.who = found->second;
  one.who.node = place.node;
  one.who.what = place.what;
  one.who.holds = place.holds;
  return one;
}

std::vector<queue_change> queue_changes::next(const latchkey::queue_sighting& seen, wall_time now) {
  using kind = queue_change::kind;
  std::vector<queue_change> gone;
  std::vector<queue_change> changed;
  for (auto& [node, each] : all_) each.there = false;
  const bool first = !std::exchange(begun_, true);
  for (const auto& place : seen.places) {
    const auto [at, came] = all_.try_emplace(place.node);
    auto& each = at->second;
    each.there = true;
    if (came) {
      each = entry_of(place);
      if (!first) each.since = now;
      changed.push_back({first ? kind::there : place.holds ? kind::holds : kind::waits, each.who, {}, each.read});
    } else if (place.holds && !each.who.holds) {
      each.who.holds = true;
      changed.push_back({kind::holds, each.who, between(std::exchange(each.since, now), now), each.read});
    }
  }
  std::erase_if(all_, [&](const auto& item) {
    const auto& each = item.second;
    if (each.there) return false;
    gone.push_back(
        {each.who.holds ? kind::stops_holding : kind::stops_waiting, each.who, between(each.since, now), each.read});
    return true;
  });
  std::stable_partition(changed.begin(), changed.end(), [](const auto& each) { return each.after.has_value(); });
  gone.insert(gone.end(), changed.begin(), changed.end());
  return gone;
}

}  // namespace command
