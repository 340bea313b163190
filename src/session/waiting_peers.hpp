// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Entries of other clients that wait for ours.

#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <unordered_map>

#include "session/peer_link.hpp"
#include "session/peer_message.hpp"

namespace latchkey::detail {

/// The entries of this client that others wait for, each with the one that is told of its release.
///
/// If several subscribers claim that an entry is the nearest ahead of them, the one with the largest number is told:
/// its list showed none of the others, so they have left.
class waiting_peers {
 public:
  explicit waiting_peers(peer_link& by) : link_{by} {}

  /// The entry is in its queue: others may wait for it.
  void add(const std::string& name);
  /// The entry holds the lock. A subscriber that has waited for longer than `patience` is told, to have its lease
  /// proved in time. @pre the entry was added
  void hold(const std::string& name, duration patience);
  /// The entry no longer waits, and its subscriber is not told of a release, unless `tell` was called.
  void remove(const std::string& name) { own_.erase(name); }
  /// The entry was let in alone and is closed: tells its subscriber. @returns whether there is one. @pre it was added
  bool tell(const std::string& name);

  /// A message that is `subscribe` or `ask`. @param bytes of it, with its tag
  void on_subscribe(const std::string& from, const peer_message& what, std::string_view bytes);

  /// How many names of closed entries are kept, and for how long, for those who ask too late.
  static constexpr std::size_t most_closed = 64;
  static constexpr duration closed_for = std::chrono::minutes{1};
  /// How many early subscribers are kept, and for how long: another server has shown them our node before our own server
  /// has answered its create. All paths share these places: who can read the nodes of one path may push out the early
  /// subscribers of another, which then wait for their watches.
  static constexpr std::size_t most_early = 64;
  static constexpr duration early_for = std::chrono::minutes{1};

 private:
  struct subscriber {
    std::string name;
    std::uint32_t number = 0;
    peer_nonce nonce{};
    std::string address;
    time_point since;
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

  static bool note(own_entry& of, subscriber&& who);
  void send(peer_message::verb what, const std::string& ahead, const subscriber& to);
  bool was_closed(std::string_view name);
  void keep_early(const std::string& ahead, subscriber who);
  void forget_early();

  peer_link& link_;
  std::unordered_map<std::string, own_entry> own_;  // by name
  std::deque<early> early_;                         // of entries that we do not know to be there yet; the oldest first
  std::deque<closed> closed_;                       // the oldest first
};

}  // namespace latchkey::detail
