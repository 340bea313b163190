// SPDX-License-Identifier: Apache-2.0
#include "session/peers.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <stdexcept>
#include <utility>

#include <sodium.h>

#include "base/log.hpp"
#include "base/node_name.hpp"
#include "base/path.hpp"
#include "base/unique_id.hpp"

namespace latchkey::detail {
namespace {

using namespace std::chrono_literals;
using verb = peer_message::verb;

/// After each message that is not answered; then the address counts as silent. When a lock is handed on quickly, most
/// releases come before the first of these is over: only later messages ask for an answer, and the node ahead is watched
/// from then on.
constexpr std::array<duration, 3> pauses{10ms, 10ms, 20ms};

/// Before firewalls drop an idle flow.
constexpr duration asked_again_after = 20s;

std::optional<std::uint32_t> number_of(std::string_view name) noexcept { return number_after("", name); }

/// What the names of all entries of one client and path have in common: "_c_", and half of the UUID that follows.
std::string_view family_of(std::string_view name) noexcept { return name.substr(0, 21); }

void drop(std::uint64_t& reason) noexcept { ++reason; }

}  // namespace

peers::peers(monitor& own, std::unique_ptr<datagram_port> port)
    : monitor_{own}, port_{std::move(port)}, departures_{own} {
  if (sodium_init() < 0) throw std::runtime_error{"libsodium could not be initialised"};
  randombytes_buf(secret_.data(), secret_.size());
  port_->listen([this](const std::string& from, std::string_view bytes) { on_received(from, bytes); });
}

peers::~peers() { port_->listen({}); }

void peers::on_connected(const std::string& server) {
  const bool first = address_.empty();
  address_ = port_->address(server);
  if (!address_.empty() || !first || std::exchange(said_, true)) return;
  log(log_level::warning,
      "this client has no address that others can reach, so the ensemble hands off its locks; set "
      "peer_options::listen to the ensemble's family (IPv4 or IPv6), or set peer_options::advertise",
      {{"server", server}});
}

peer_key peers::hash(std::string_view text) const noexcept {
  peer_key made{};
  crypto_shorthash_siphashx24(made.data(), reinterpret_cast<const unsigned char*>(text.data()), text.size(),
                              secret_.data());
  return made;
}

// Entries of ours ----------

std::string peers::unique_id(std::string_view path) const {
  std::uint64_t high = 0;
  std::memcpy(&high, hash(path).data(), sizeof high);
  return detail::unique_id(high);
}

std::optional<peer_advert> peers::advert(std::string_view name) const {
  if (address_.empty()) return std::nullopt;
  return peer_advert{address_, hash(family_of(name))};
}

void peers::add(const std::string& name) {
  auto& mine = own_[name];
  forget_early();
  const auto asked = [&](const early& each) { return each.ahead == name; };
  for (auto at = early_.begin(); (at = std::find_if(at, early_.end(), asked)) != early_.end(); at = early_.erase(at)) {
    note(mine, std::move(at->who));
  }
}

void peers::hold(const std::string& name, duration patience) {
  auto& mine = own_.at(name);
  mine.holds = true;
  if (!mine.behind.name.empty() && mine.behind.since + patience < monitor_.now()) {
    send(verb::granted, name, mine.behind);
  }
}

void peers::remove(const std::string& name) {
  own_.erase(name);
  unsubscribe(name);
}

bool peers::tell(const std::string& name) {
  const auto& behind = own_.at(name).behind;
  if (!behind.name.empty()) send(verb::released, name, behind);
  closed_.push_back({name, monitor_.now() + closed_for});
  if (closed_.size() > most_closed) closed_.pop_front();
  return !behind.name.empty();
}

bool peers::was_closed(std::string_view name) {
  while (!closed_.empty() && closed_.front().until <= monitor_.now()) closed_.pop_front();
  return std::any_of(closed_.begin(), closed_.end(), [&](const closed& each) { return each.name == name; });
}

void peers::on_subscribe(const std::string& from, const peer_message& what, std::string_view bytes) {
  const auto number = number_of(what.behind);
  const auto own = number_of(what.ahead);
  if (!number || !own || *number <= *own) return drop(counts_.malformed);
  const std::string ahead{what.ahead};
  if (!is_genuine(bytes, hash(family_of(ahead)))) return drop(counts_.bad_tag);
  subscriber asks{std::string{what.behind}, *number, what.nonce, from, monitor_.now()};
  if (was_closed(ahead)) return send(verb::released, ahead, asks);
  const auto at = own_.find(ahead);
  const bool holds = at != own_.end() && at->second.holds;
  if (what.what == verb::ask) send(holds ? verb::granted : verb::noted, ahead, asks);
  if (at != own_.end()) {
    if (!note(at->second, std::move(asks))) ++counts_.stale;
    return;
  }
  keep_early(ahead, std::move(asks));
}

void peers::keep_early(const std::string& ahead, subscriber who) {
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

void peers::forget_early() {
  while (!early_.empty() && early_.front().who.since + early_for <= monitor_.now()) early_.pop_front();
}

/// @returns false if one with a larger number is noted.
bool peers::note(own_entry& of, subscriber&& who) {
  if (!of.behind.name.empty() && of.behind.number > who.number) return false;
  if (of.behind.name == who.name) who.since = of.behind.since;
  of.behind = std::move(who);
  return true;
}

void peers::send(verb what, const std::string& ahead, const subscriber& to) {
  port_->send(to.address, encode({what, ahead, to.name, to.nonce}, hash(family_of(ahead))));
}

// Entries of others ----------

void peers::learn(const std::string& path, std::string_view ahead, peer_advert at) {
  if (known_.size() == most_known) known_.clear();
  known_[join(path, family_of(ahead))].at = std::move(at);
}

bool peers::subscribe(peer_listener& who, const std::string& path, const std::string& mine, const std::string& ahead) {
  const auto whom = known_.find(join(path, family_of(ahead)));
  if (whom == known_.end()) return false;
  const auto& [at, needed] = whom->second;
  const auto present = subscriptions_.find(mine);
  if (present != subscriptions_.end() && present->second.ahead == ahead && present->second.at == at) return false;
  unsubscribe(mine);
  auto& made = subscriptions_[mine];
  made.who = &who;
  made.family = whom->first;
  made.ahead = ahead;
  made.at = at;
  randombytes_buf(made.nonce.data(), made.nonce.size());
  ++counts_.subscriptions;
  const bool expected = made.expected = needed == 0 && !is_silent(at.address);
  ask(mine);
  return expected;
}

void peers::unsubscribe(const std::string& mine) {
  const auto at = subscriptions_.find(mine);
  if (at == subscriptions_.end()) return;
  monitor_.cancel(at->second.timer);
  subscriptions_.erase(at);
}

void peers::ask(const std::string& mine) {
  auto& with = subscriptions_.at(mine);
  if (std::exchange(with.noted, false)) with.sent = 0;
  if (with.sent == pauses.size()) give_up(with);
  const bool late = with.asked && end_first_pause(with, false);
  if (is_silent(with.at.address)) {  // since another subscription has found it so, perhaps
    with.timer = monitor_.at(silent_.at(with.at.address), [this, mine] { ask(mine); });
  } else {
    const auto what = std::exchange(with.asked, true) ? verb::ask : verb::subscribe;
    port_->send(with.at.address, encode({what, with.ahead, mine, with.nonce}, with.at.key));
    with.timer = monitor_.in(pauses[with.sent++], [this, mine] { ask(mine); });
  }
  if (late) with.who->on_no_release();
}

/// @param released whether the first pause has ended with the release. @returns whether this is the end of that pause.
bool peers::end_first_pause(subscription& with, bool released) {
  if (!std::exchange(with.first_pause, false)) return false;
  const auto whom = known_.find(with.family);
  if (whom == known_.end()) return true;
  auto& needed = whom->second.needed;
  if (released) {
    needed -= needed > 0;
  } else {
    needed = with.expected ? needed_after_a_miss : std::max(needed, 1U);
  }
  return true;
}

bool peers::is_silent(const std::string& address) const {
  const auto at = silent_.find(address);
  return at != silent_.end() && monitor_.now() < at->second;
}

/// Several subscriptions may give up the same address: the first of them logs it.
void peers::give_up(subscription& with) {
  with.sent = 0;
  ++counts_.given_up;
  std::erase_if(silent_, [now = monitor_.now()](const auto& each) { return each.second <= now; });
  const auto until = monitor_.now() + silent_for;
  if (silent_.insert_or_assign(with.at.address, until).second) {
    log(log_level::info,
        "a process does not answer by UDP, so the ensemble hands off its locks; if it is running, check firewalls, "
        "NAT and its peer_options::advertise",
        {{"address", with.at.address}, {"entry", with.ahead}});
  }
}

void peers::on_answer(const peer_message& what, std::string_view bytes) {
  const std::string mine{what.behind};
  const auto at = subscriptions_.find(mine);
  if (at == subscriptions_.end()) return drop(counts_.unknown);
  auto& with = at->second;
  if (with.ahead != what.ahead || with.nonce != what.nonce) return drop(counts_.stale);
  if (!is_genuine(bytes, with.at.key)) return drop(counts_.bad_tag);
  silent_.erase(with.at.address);
  if (!std::exchange(with.acknowledged, true)) ++counts_.acknowledged;
  auto* const who = with.who;
  if (what.what != verb::released) {
    with.noted = true;
    monitor_.cancel(with.timer);
    with.timer = monitor_.in(asked_again_after, [this, mine] { ask(mine); });
    const bool late = end_first_pause(with, false);
    if (what.what == verb::granted) who->on_next();
    if (late && subscriptions_.contains(mine)) who->on_no_release();
    return;
  }
  end_first_pause(with, true);
  const auto ahead = std::move(with.ahead);
  unsubscribe(mine);
  who->on_released(ahead);
}

void peers::on_received(const std::string& from, std::string_view bytes) {
  const auto what = decode(bytes);
  if (!what) return drop(counts_.malformed);
  if (what->what == verb::subscribe || what->what == verb::ask) return on_subscribe(from, *what, bytes);
  on_answer(*what, bytes);
}

}  // namespace latchkey::detail
