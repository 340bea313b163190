// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Who hears of a release by datagram.

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include <latchkey/metrics.hpp>

#include "bridge/datagram_port.hpp"
#include "bridge/monitor.hpp"
#include "session/departures.hpp"
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

/// The entries of this client that others wait for, and the entries of others that ours wait for. Each is known by the
/// name of its node, which is unique. Only "released" lets an entry in. Once true it stays true, so the message may be
/// lost, late, doubled or replayed.
///
/// If several subscribers claim that an entry is the nearest ahead of them, the one with the largest number is told:
/// its list showed none of the others, so they have left.
class peers {
 public:
  peers(monitor& own, std::unique_ptr<datagram_port> port);
  ~peers();
  peers(const peers&) = delete;
  peers& operator=(const peers&) = delete;

  /// @param server that the client is connected to
  void on_connected(const std::string& server);

  // Entries of ours:

  /// @returns a UUID for an entry at `path`. All those of a path begin alike, so one advert applies to all.
  std::string unique_id(std::string_view path) const;
  /// @param name of the node, with or without its number. @returns nothing while this client has no address
  std::optional<peer_advert> advert(std::string_view name) const;
  /// The entry is in its queue: others may wait for it.
  void add(const std::string& name);
  /// The entry holds the lock. A subscriber that has waited for longer than `patience` is told, to have its lease
  /// proved in time. @pre the entry was added
  void hold(const std::string& name, duration patience);
  /// The entry no longer waits, and its subscriber is not told of a release, unless `tell` was called.
  void remove(const std::string& name);
  /// The entry was let in alone and is closed: tells its subscriber. @returns whether there is one. @pre it was added
  bool tell(const std::string& name);

  // Entries of others:

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

  /// Of entries that are closed.
  detail::departures& departures() noexcept { return departures_; }

  peer_metrics& counts() noexcept { return counts_; }
  const peer_metrics& counts() const noexcept { return counts_; }

  /// How many names of closed entries are kept, and for how long, for those who ask too late.
  static constexpr std::size_t most_closed = 64;
  static constexpr duration closed_for = std::chrono::minutes{1};
  /// How many early subscribers are kept, and for how long: another server has shown them our node before our own server
  /// has answered its create. All paths share these places: who can read the nodes of one path may push out the early
  /// subscribers of another, which then wait for their watches.
  static constexpr std::size_t most_early = 64;
  static constexpr duration early_for = std::chrono::minutes{1};
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
    std::size_t sent = 0;       // without an answer
    bool asked = false;         // ever
    bool noted = false;         // since it was sent last
    bool acknowledged = false;  // ever
    bool expected = false;      // its release, before the first pause is over
    bool first_pause = true;    // the first pause is not over, and no answer has come
    timer_id timer{};
  };
  struct subscriber {
    std::string name;
    std::uint32_t number = 0;
    peer_nonce nonce{};
    std::string address;
    time_point since;
  };
  /// A client, at one path.
  struct known {
    peer_advert at;
    unsigned needed = 1;  // so many releases have to come before the first pause is over, until the next is expected to
  };
  struct own_entry {
    subscriber behind;  // no name: none yet
    bool holds = false;
  };
  struct early {
    std::string ahead;
    subscriber who;
  };
  struct closed {
    std::string name;
    time_point until;
  };

  peer_key hash(std::string_view text) const noexcept;
  void on_received(const std::string& from, std::string_view bytes);
  void on_subscribe(const std::string& from, const peer_message& what, std::string_view bytes);
  bool note(own_entry& of, subscriber&& who);
  void on_answer(const peer_message& what, std::string_view bytes);
  void ask(const std::string& mine);
  void give_up(subscription& with);
  bool end_first_pause(subscription& with, bool released);
  bool is_silent(const std::string& address) const;
  void send(peer_message::verb what, const std::string& ahead, const subscriber& to);
  bool was_closed(std::string_view name);
  void keep_early(const std::string& ahead, subscriber who);
  void forget_early();

  monitor& monitor_;
  const std::unique_ptr<datagram_port> port_;
  peer_key secret_{};
  std::string address_;
  bool said_ = false;  // that there is none
  peer_metrics counts_;
  detail::departures departures_;
  std::unordered_map<std::string, own_entry> own_;  // by name
  std::deque<early> early_;                         // of entries that we do not know to be there yet; the oldest first
  std::unordered_map<std::string, subscription> subscriptions_;  // by the name of ours
  std::deque<closed> closed_;                                    // the oldest first
  std::unordered_map<std::string, known> known_;                 // by path, and what its names have in common
  std::map<std::string, time_point> silent_;                     // until when, by address
};

}  // namespace latchkey::detail
