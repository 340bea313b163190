// SPDX-License-Identifier: Apache-2.0
#include "recipes/sequencer/watched_nodes.hpp"

#include <utility>

#include "queue/refusal.hpp"

namespace latchkey::detail {

request question_about(const std::string& node) { return {.kind = operation::transact, .steps = {{.path = node}}}; }

void watched_nodes::end() {
  for (const auto& [node, each] : places_) core_->session().forget(each->watch);
}

std::optional<bool> watched_nodes::known(const std::string& node) {
  if (core_->failed()) core_->failed()->at(node).throw_it();
  const auto& session = core_->session();
  if (!session.connected()) return false;
  if (std::exchange(session_, session.epoch()) != session.epoch()) places_.clear();  // so have its watches
  // After a reconnect the events of the outage come before the first answer (Z4). Events of a connection that has died
  // silently do not come: the C client notices after two thirds of T, and this process may have been stopped.
  const bool told = session.answered() && core_->monitor().now() - session.heard_at() <= session.info().timeout / 3;
  const auto at = places_.find(node);
  if (!told || at == places_.end() || !at->second->watched) return std::nullopt;
  return true;
}

std::shared_ptr<watched_nodes::caller> watched_nodes::ask(const std::string& node) {
  auto& about = places_[node];
  if (!about) about = std::make_shared<place>(place{.node = node});
  auto who = about->callers.emplace_back(std::make_shared<caller>());
  if (!about->asked) send(about);
  return who;
}

void watched_nodes::leave(const std::string& node, const std::shared_ptr<caller>& who) {
  if (const auto at = places_.find(node); at != places_.end()) std::erase(at->second->callers, who);
}

void watched_nodes::send(const std::shared_ptr<place>& about) {
  auto& session = core_->session();
  about->asked = true;
  const bool watch = !about->watched && session.may_watch(about->node, watch_room::spare);
  const auto left = [about] { return about->callers.empty(); };
  session.submit(question_about(about->node),
                 while_wanted{left, [self = weak_from_this(), about, watch](const reply& checked) {
                                about->checked = checked.code;
                                if (const auto me = self.lock(); me && !watch) me->conclude(*about);
                              }});
  if (!watch) return;
  about->watch = session.submit({.kind = operation::get, .path = about->node},
                                while_wanted{left,
                                             [self = weak_from_this(), about](const reply& read) {
                                               about->watched = read.code == reply_code::ok;
                                               if (const auto me = self.lock()) me->conclude(*about);
                                             }},
                                [self = weak_from_this(), about](watch_event) {
                                  about->watched = false;
                                  if (const auto me = self.lock()) me->keep_or_drop(*about);
                                });
}

void watched_nodes::conclude(place& about) {
  using enum reply_code;
  const auto code = about.checked;
  about.asked = false;
  // A server that has lost the deletion (HAZARDS S19) would show the node for ever.
  if (code == no_node && std::exchange(about.watched, false)) core_->session().forget(about.watch);
  const bool decided = code == ok || code == no_node || is_lost(code);
  for (auto& who : std::exchange(about.callers, {})) {
    who->there = code == ok;
    if (!decided) who->failed = refusal(*core_, code, "the permission r").at(about.node);
    core_->monitor().wake({who, &who->point});
  }
  keep_or_drop(about);
}

void watched_nodes::keep_or_drop(const place& about) {
  if (about.watched || about.asked) return;
  const auto at = places_.find(about.node);
  if (at != places_.end() && at->second.get() == &about) places_.erase(at);
}

}  // namespace latchkey::detail
