// SPDX-License-Identifier: Apache-2.0
#include "queue/neighbours.hpp"

#include <utility>

#include "session/session.hpp"

namespace latchkey::detail {

/// Watches on parents stay until those go, as the C client cannot give one up: room is left for those of nodes.
void neighbours::watch_parent(session& through, const std::string& path) {
  if (epoch_ != through.epoch()) parent_ = parent_watch::none;  // it went with its session
  if (parent_ != parent_watch::none || !through.may_watch(path, watch_room::spare)) return;
  parent_ = parent_watch::asked;
  epoch_ = through.epoch();
  through.submit({.kind = operation::get, .path = path},
                 while_wanted{[self = weak_from_this()] { return self.expired(); },
                              [self = weak_from_this()](const reply& read) {
                                const auto line = self.lock();
                                if (line)
                                  line->parent_ = read.code == reply_code::ok ? parent_watch::set : parent_watch::none;
                              }},
                 [self = weak_from_this()](watch_event event) {
                   if (const auto line = self.lock()) line->on_parent_event(event);
                 });
}

/// A parent that has gone has taken all nodes with it. One that was away while the connection was lost, and is back,
/// is told as changed.
void neighbours::on_parent_event(watch_event event) {
  parent_ = parent_watch::none;
  if (event == watch_event::deleted) {
    for (const auto& each : unlink_all()) each.who->on_parent_gone();
  } else {
    for (auto& [number, each] : by_number_) each->certain_ = false;
  }
}

// The chain ----------

void neighbours::enter(neighbour& who, std::uint32_t number, const session& through) {
  if (at(number) != nullptr) forget();
  who.number_ = number;
  who.in_line_ = true;
  who.certain_ = parent_ == parent_watch::set && epoch_ == through.epoch();
  by_number_.emplace(number, &who);
}

neighbour* neighbours::at(std::uint32_t number) const noexcept {
  const auto found = by_number_.find(number);
  return found == by_number_.end() ? nullptr : found->second;
}

bool neighbours::follow_directly(neighbour& who) {
  auto* const ahead = at(who.number_ - 1);
  return ahead != nullptr && ahead->certain_ && follow(who, *ahead);
}

bool neighbours::follow(neighbour& who, neighbour& ahead) {
  if (&who == &ahead || ahead.behind_ != nullptr) return false;
  who.ahead_ = &ahead;
  ahead.behind_ = &who;
  return true;
}

neighbour* neighbours::leave(neighbour& who) {
  if (!std::exchange(who.in_line_, false)) return nullptr;
  by_number_.erase(who.number_);
  auto* const ahead = std::exchange(who.ahead_, nullptr);
  auto* const behind = std::exchange(who.behind_, nullptr);
  if (ahead != nullptr) ahead->behind_ = behind;
  if (behind == nullptr) return nullptr;
  behind->ahead_ = ahead;
  return ahead == nullptr ? behind : nullptr;
}

/// @returns the entries, and which of them waited for a neighbour.
std::vector<neighbours::unlinked> neighbours::unlink_all() {
  std::vector<unlinked> all;
  all.reserve(by_number_.size());
  for (const auto& [number, each] : std::exchange(by_number_, {})) {
    all.push_back({each->keep_alive(), each->follows()});
    each->ahead_ = each->behind_ = nullptr;
    each->in_line_ = false;
  }
  return all;
}

void neighbours::forget() {
  for (const auto& each : unlink_all()) {
    if (each.waited) each.who->on_neighbours_forgotten();
  }
}

}  // namespace latchkey::detail
