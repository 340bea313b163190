// SPDX-License-Identifier: Apache-2.0
#include "queue/neighbours.hpp"

#include <utility>

#include "queue/queue_entry.hpp"
#include "session/own_nodes.hpp"

namespace latchkey::detail {

namespace {

/// Watches on parents stay until those go, as the C client cannot give one up: room is left for those of nodes.
constexpr std::size_t most_parent_bytes = own_nodes::most_bytes / 2;

}  // namespace

void neighbours::watch_parent(session& through, const std::string& path) {
  if (epoch_ != through.epoch()) parent_ = parent_watch::none;  // it went with its session
  if (parent_ != parent_watch::none || through.watched_bytes() + path.size() > most_parent_bytes) return;
  parent_ = parent_watch::asked;
  epoch_ = through.epoch();
  through.submit(
      {.kind = operation::get, .path = path},
      [self = weak_from_this()](const reply& read) {
        const auto line = self.lock();
        if (line) line->parent_ = read.code == reply_code::ok ? parent_watch::set : parent_watch::none;
      },
      [self = weak_from_this()](watch_event event) {
        if (const auto line = self.lock()) line->on_parent_event(event);
      });
}

void neighbours::enter(std::uint32_t number, queue_entry& who, const session& through) {
  by_number_.emplace(number, member{&who, parent_ == parent_watch::set && epoch_ == through.epoch()});
}

queue_entry* neighbours::at(std::uint32_t number) const noexcept {
  const auto found = by_number_.find(number);
  return found == by_number_.end() ? nullptr : found->second.who;
}

queue_entry* neighbours::directly_ahead_of(std::uint32_t number) const noexcept {
  const auto own = by_number_.find(number);
  const auto ahead = by_number_.find(number - 1);
  if (own == by_number_.end() || ahead == by_number_.end()) return nullptr;
  return own->second.certain && ahead->second.certain ? ahead->second.who : nullptr;
}

void neighbours::leave(std::uint32_t number, const queue_entry& who) {
  const auto found = by_number_.find(number);
  if (found != by_number_.end() && found->second.who == &who) by_number_.erase(found);
}

std::vector<queue_entry*> neighbours::forget_all() {
  std::vector<queue_entry*> found;
  found.reserve(by_number_.size());
  for (const auto& [number, each] : std::exchange(by_number_, {})) found.push_back(each.who);
  return found;
}

/// A parent that has gone has taken all nodes with it. One that was away while the connection was lost, and is back,
/// is told as changed.
void neighbours::on_parent_event(watch_event event) {
  parent_ = parent_watch::none;
  if (event == watch_event::deleted) return queue_entry::on_parent_gone(*this);
  for (auto& [number, each] : by_number_) each.certain = false;
}

}  // namespace latchkey::detail
