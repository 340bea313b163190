// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Entries of other clients that ours wait for.

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>

#include "session/peer_link.hpp"
#include "session/peer_message.hpp"

namespace latchkey::detail {

/// An entry that waits for one of another client.
class peer_listener {
 public:
  /// The entry ahead, of this name, was let in alone, and is closed: no grant of it is in use, none will begin, and each
  /// of its transactions has been answered.
  virtual void on_released(const std::string& ahead) = 0;
  /// The entry ahead holds the lock: this one is next.
  virtual void on_next() = 0;
  /// The entry ahead is not closed, or its client does not say so, or the message was lost: its node is to be watched.
  /// After a `subscribe` that returned true: at the latest 10 ms later, unless `on_released` came first. Otherwise at any
  /// time.
  virtual void on_no_release() = 0;

 protected:
  ~peer_listener() = default;
};

/// How far a subscription has come.
enum class subscription_state : std::uint8_t {
  unsent,       ///< the address is silent
  first_pause,  ///< it is sent, and no answer is asked for: most releases come before this is over
  unanswered,   ///< an answer is asked for, and none has ever come
  noted,        ///< the client ahead will tell
  asked_again,  ///< it has said so before, and is asked whether it still does
};

/// @returns the state after a pause without an answer to what was sent last.
constexpr subscription_state after_pause(subscription_state is) noexcept {
  using enum subscription_state;
  constexpr std::array next{unsent, unanswered, unanswered, asked_again, asked_again};
  return next[static_cast<std::size_t>(is)];
}

/// The entries of other clients that ours wait for, and what is known of their clients.
class awaited_peers {
 public:
  explicit awaited_peers(peer_link& by) : link_{by} {}

  /// @param path of the queue: who may create entries in another one is not believed in this one
  /// @param at what the record of the entry `ahead` advertises
  void learn(const std::string& path, std::string_view ahead, peer_advert at);
  /// `who` is told of the release of the entry `ahead`; this replaces the previous subscription of `mine`. Does nothing
  /// if no advert of that client and path is known. An address that is silent is asked later.
  /// @param mine the name of its node
  /// @returns whether the release is expected in less than 10 ms: the last one of that client and path took no longer (the
  /// last 16, after one that did not come in time), and the address is not silent. Until `on_no_release` the ensemble need
  /// not be asked to tell it.
  bool subscribe(peer_listener& who, const std::string& path, const std::string& mine, const std::string& ahead);
  void unsubscribe(const std::string& mine);

  /// A message that is an answer, or tells of a release. @param bytes of it, with its tag
  void on_answer(const peer_message& what, std::string_view bytes);

  /// How many clients and paths are known; then all are forgotten.
  static constexpr std::size_t most_known = 1024;
  /// How long an address that has not answered is left alone.
  static constexpr duration silent_for = std::chrono::seconds{30};
  /// After a release that was expected within 10 ms and did not come: how many have to, until one is expected again. Of
  /// one datagram in five that is lost, each would cost 10 ms otherwise.
  static constexpr unsigned needed_after_a_miss = 16;

 private:
  struct subscription {
    peer_listener* who = nullptr;
    std::string family;  // of `ahead`
    std::string ahead;
    peer_advert at;
    peer_nonce nonce{};
    subscription_state is = subscription_state::unsent;
    bool expected = false;  // its release, before the first pause is over
    std::size_t sent = 0;   // without an answer
    timer_id timer{};
  };
  /// A client, at one path.
  struct known {
    peer_advert at;
    unsigned needed = 1;  // so many releases have to come before the first pause is over, until the next is expected to
  };

  void ask(const std::string& mine);
  void give_up(subscription& with);
  void judge_first_pause(const subscription& with, bool released);
  bool is_silent(const std::string& address) const;

  peer_link& link_;
  std::unordered_map<std::string, subscription> subscriptions_;  // by the name of ours
  std::unordered_map<std::string, known> known_;                 // by path, and what its names have in common
  std::map<std::string, time_point> silent_;                     // until when, by address
};

}  // namespace latchkey::detail
