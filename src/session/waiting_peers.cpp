// SPDX-License-Identifier: Apache-2.0
#include "session/waiting_peers.hpp"

#include <algorithm>
#include <utility>

#include "base/node_name.hpp"

namespace latchkey::detail {
namespace {

using verb = peer_message::verb;

}  // namespace

void waiting_peers::add(const std::string& name) {
  auto& mine = own_[name];
  forget_early();
  const auto asked = [&](const early& each) { return each.ahead == name; };
  for (auto at = early_.begin(); (at = std::find_if(at, early_.end(), asked)) != early_.end(); at = early_.erase(at)) {
    note(mine, std::move(at->who));
  }
}

void waiting_peers::hold(const std::string& name, duration patience) {
  auto& mine = own_.at(name);
  mine.holds = true;
  if (!mine.behind.name.empty() && mine.behind.since + patience < link_.own.now()) {
    send(verb::granted, name, mine.behind);
  }
}

bool waiting_peers::tell(const std::string& name) {
  const auto& behind = own_.at(name).behind;
  if (!behind.name.empty()) send(verb::released, name, behind);
  closed_.push_back({name, link_.own.now() + closed_for});
  if (closed_.size() > most_closed) closed_.pop_front();
  return !behind.name.empty();
}

bool waiting_peers::was_closed(std::string_view name) {
  while (!closed_.empty() && closed_.front().until <= link_.own.now()) closed_.pop_front();
  return std::any_of(closed_.begin(), closed_.end(), [&](const closed& each) { return each.name == name; });
}

void waiting_peers::on_subscribe(const std::string& from, const peer_message& what, std::string_view bytes) {
  const auto number = number_after("", what.behind);
  const auto own = number_after("", what.ahead);
  if (!number || !own || *number <= *own) return void(++link_.counts.malformed);
  const std::string ahead{what.ahead};
  if (!is_genuine(bytes, link_.key_of(ahead))) return void(++link_.counts.bad_tag);
  subscriber asks{std::string{what.behind}, *number, what.nonce, from, link_.own.now()};
  if (was_closed(ahead)) return send(verb::released, ahead, asks);
  const auto at = own_.find(ahead);
  const bool holds = at != own_.end() && at->second.holds;
  if (what.what == verb::ask) send(holds ? verb::granted : verb::noted, ahead, asks);
  if (at != own_.end()) {
    if (!note(at->second, std::move(asks))) ++link_.counts.stale;
    return;
  }
  keep_early(ahead, std::move(asks));
}

void waiting_peers::keep_early(const std::string& ahead, subscriber who) {
  forget_early();
  const auto present = std::find_if(early_.begin(), early_.end(), [&](const early& each) {
    return each.ahead == ahead && each.who.name == who.name;
  });
  if (present != early_.end()) {
    who.since = present->who.since;
    present->who = std::move(who);
    return;
  }
  early_.push_back({ahead, std::move(who)});
  if (early_.size() > most_early) early_.pop_front();
}

void waiting_peers::forget_early() {
  while (!early_.empty() && early_.front().who.since + early_for <= link_.own.now()) early_.pop_front();
}

/// @returns false if one with a larger number is noted.
bool waiting_peers::note(own_entry& of, subscriber&& who) {
  if (!of.behind.name.empty() && of.behind.number > who.number) return false;
  if (of.behind.name == who.name) who.since = of.behind.since;
  of.behind = std::move(who);
  return true;
}

void waiting_peers::send(verb what, const std::string& ahead, const subscriber& to) {
  link_.port->send(to.address, encode({what, ahead, to.name, to.nonce}, link_.key_of(ahead)));
}

}  // namespace latchkey::detail
