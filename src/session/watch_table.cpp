// SPDX-License-Identifier: Apache-2.0
#include "session/watch_table.hpp"

#include <algorithm>
#include <utility>

namespace latchkey::detail {
namespace {

/// Data and children of a path are watched apart, and both end with it.
bool concerns(watch_event event, bool of_children) {
  return event == watch_event::deleted || (event == watch_event::children_changed) == of_children;
}

}  // namespace

watch_id watch_table::add(const std::string& path, bool of_children, callback on_watch) {
  const auto [at, is_new] = watched_.try_emplace(path);
  if (is_new) bytes_ += bytes_of(path);
  at->second.push_back({++last_, of_children, std::move(on_watch)});
  return {path, last_};
}

void watch_table::forget(watch_id& watch) {
  const auto number = std::exchange(watch.number, 0);
  if (number == 0) return;
  const auto at = watched_.find(watch.path);
  if (at == watched_.end()) return;
  for (auto& each : at->second) {
    if (each.number == number) each.on_watch = nullptr;
  }
  merge_forgotten(at->second);
}

void watch_table::erase(const watch_id& watch) {
  const auto at = watched_.find(watch.path);
  if (watch.number == 0 || at == watched_.end()) return;
  std::erase_if(at->second, [&](const watcher& each) { return each.number == watch.number; });
  if (at->second.empty()) erase_path(at);
}

void watch_table::merge_forgotten(std::vector<watcher>& watchers) {
  const auto is_spare = [&](const watcher& one) {
    return one.armed && !one.on_watch && std::any_of(watchers.begin(), watchers.end(), [&](const watcher& other) {
             return other.armed && other.of_children == one.of_children && other.number > one.number;
           });
  };
  // One by one: two that are forgotten must not end one another.
  for (auto spare = std::find_if(watchers.begin(), watchers.end(), is_spare); spare != watchers.end();
       spare = std::find_if(watchers.begin(), watchers.end(), is_spare)) {
    watchers.erase(spare);
  }
}

std::vector<std::string> watch_table::paths() const {
  std::vector<std::string> found;
  const auto is_wanted = [](const watcher& each) { return static_cast<bool>(each.on_watch); };
  for (const auto& [path, watchers] : watched_) {
    if (std::any_of(watchers.begin(), watchers.end(), is_wanted)) found.push_back(path);
  }
  return found;
}

void watch_table::erase_path(by_path::iterator path) {
  bytes_ -= bytes_of(path->first);
  watched_.erase(path);
}

void watch_table::arm(const watch_id& watch) {
  if (watch.number == 0) return;
  const auto at = watched_.find(watch.path);
  if (at == watched_.end()) return;  // forgotten meanwhile
  for (auto& each : at->second) {
    if (each.number == watch.number) each.armed = true;
  }
  merge_forgotten(at->second);
}

/// One by one: a callback may forget the watch of another.
void watch_table::on_event(watch_event event, const std::string& path) {
  for (const auto last = last_;;) {
    const auto at = watched_.find(path);
    if (at == watched_.end()) return;
    auto& watchers = at->second;
    const auto next = std::find_if(watchers.begin(), watchers.end(), [&](const watcher& each) {
      return each.armed && each.number <= last && concerns(event, each.of_children);
    });
    if (next == watchers.end()) return;
    const auto on_watch = std::move(next->on_watch);
    watchers.erase(next);
    if (watchers.empty()) erase_path(at);
    if (on_watch) on_watch(event);
  }
}

void watch_table::clear() {
  watched_.clear();
  bytes_ = 0;
}

}  // namespace latchkey::detail
