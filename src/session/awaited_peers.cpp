// SPDX-License-Identifier: Apache-2.0
#include "session/awaited_peers.hpp"

#include <algorithm>
#include <utility>

#include <sodium.h>

#include "base/log.hpp"
#include "base/path.hpp"

namespace latchkey::detail {
namespace {

using namespace std::chrono_literals;
using verb = peer_message::verb;
using state = subscription_state;

/// After each message that is not answered; then the address counts as silent. When a lock is handed on quickly, most
/// releases come before the first of these is over: only later messages ask for an answer, and the node ahead is watched
/// from then on.
constexpr std::array<duration, 3> pauses{10ms, 10ms, 20ms};

/// Before firewalls drop an idle flow.
constexpr duration asked_again_after = 20s;

}  // namespace

void awaited_peers::learn(const std::string& path, std::string_view ahead, peer_advert at) {
  if (known_.size() == most_known) known_.clear();
  known_[join(path, family_of(ahead))].at = std::move(at);
}

bool awaited_peers::subscribe(peer_listener& who, const std::string& path, const std::string& mine,
                              const std::string& ahead) {
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
  ++link_.counts.subscriptions;
  const bool expected = made.expected = needed == 0 && !is_silent(at.address);
  ask(mine);
  return expected;
}

void awaited_peers::unsubscribe(const std::string& mine) {
  const auto at = subscriptions_.find(mine);
  if (at == subscriptions_.end()) return;
  link_.own.cancel(at->second.timer);
  subscriptions_.erase(at);
}

void awaited_peers::ask(const std::string& mine) {
  auto& with = subscriptions_.at(mine);
  if (with.is == state::noted) with.sent = 0;
  if (with.sent == pauses.size()) give_up(with);
  const bool late = with.is == state::first_pause;
  if (late) judge_first_pause(with, false);
  with.is = after_pause(with.is);
  if (is_silent(with.at.address)) {  // since another subscription has found it so, perhaps
    with.timer = link_.own.at(silent_.at(with.at.address), [this, mine] { ask(mine); });
  } else {
    const bool first = with.is == state::unsent;
    if (first) with.is = state::first_pause;
    const auto what = first ? verb::subscribe : verb::ask;
    link_.port->send(with.at.address, encode({what, with.ahead, mine, with.nonce}, with.at.key));
    with.timer = link_.own.in(pauses[with.sent++], [this, mine] { ask(mine); });
  }
  if (late) with.who->on_no_release();
}

/// The first pause is over. @param released whether it has ended with the release
void awaited_peers::judge_first_pause(const subscription& with, bool released) {
  const auto whom = known_.find(with.family);
  if (whom == known_.end()) return;
  auto& needed = whom->second.needed;
  if (released) {
    needed -= needed > 0;
  } else {
    needed = with.expected ? needed_after_a_miss : std::max(needed, 1U);
  }
}

bool awaited_peers::is_silent(const std::string& address) const {
  const auto at = silent_.find(address);
  return at != silent_.end() && link_.own.now() < at->second;
}

/// Several subscriptions may give up the same address: the first of them logs it.
void awaited_peers::give_up(subscription& with) {
  with.sent = 0;
  ++link_.counts.given_up;
  std::erase_if(silent_, [now = link_.own.now()](const auto& each) { return each.second <= now; });
  const auto until = link_.own.now() + silent_for;
  if (silent_.insert_or_assign(with.at.address, until).second) {
    log(log_level::info,
        "a process does not answer by UDP, so the ensemble hands off its locks; if it is running, check firewalls, "
        "NAT and its peer_options::advertise",
        {{"address", with.at.address}, {"entry", with.ahead}});
  }
}

void awaited_peers::on_answer(const peer_message& what, std::string_view bytes) {
  const std::string mine{what.behind};
  const auto at = subscriptions_.find(mine);
  if (at == subscriptions_.end()) return void(++link_.counts.unknown);
  auto& with = at->second;
  if (with.ahead != what.ahead || with.nonce != what.nonce) return void(++link_.counts.stale);
  if (!is_genuine(bytes, with.at.key)) return void(++link_.counts.bad_tag);
  silent_.erase(with.at.address);
  const bool released = what.what == verb::released;
  const bool early = with.is == state::first_pause;
  if (early) judge_first_pause(with, released);
  if (with.is != state::noted && with.is != state::asked_again) ++link_.counts.acknowledged;
  auto* const who = with.who;
  if (released) {
    const auto ahead = std::move(with.ahead);
    unsubscribe(mine);
    return who->on_released(ahead);
  }
  with.is = state::noted;
  link_.own.cancel(with.timer);
  with.timer = link_.own.in(asked_again_after, [this, mine] { ask(mine); });
  if (what.what == verb::granted) who->on_next();
  if (early && subscriptions_.contains(mine)) who->on_no_release();
}

}  // namespace latchkey::detail
