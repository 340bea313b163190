// SPDX-License-Identifier: Apache-2.0
#pragma once

/// The entries of one object in the same queue.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "session/session.hpp"

namespace latchkey::detail {

class queue_entry;

/// The entries of one lock object, by their numbers. If two numbers are adjacent, the entry behind waits for the one
/// ahead only: it needs neither list nor watch, and is woken without a request.
///
/// Numbers are comparable under one parent only: they begin again when it is deleted. Therefore a watch is kept on the
/// parent while several entries come. Events come in the order of the deletions (Z4): two nodes whose creates were
/// answered while the same watch was set have the same parent. With the monitor held; of one session.
class neighbours final : public std::enable_shared_from_this<neighbours> {
 public:
  /// @returns whether a node of ours is in the queue, or being created: the next one may well have a neighbour.
  bool anybody() const noexcept { return creating_ != 0 || !by_number_.empty(); }

  /// Asks for the watch on the parent, unless that is asked for or set. To be sent ahead of a create.
  void watch_parent(session& through, const std::string& path);

  void create_sent() noexcept { ++creating_; }
  void create_answered() noexcept { --creating_; }

  /// The create has been answered.
  void enter(std::uint32_t number, queue_entry& who, const session& through);

  /// @returns the entry with this number, perhaps under another parent; null if it is not ours, or has left.
  queue_entry* at(std::uint32_t number) const noexcept;

  /// @returns the entry whose number is one less, if it is certainly under the same parent; otherwise null.
  queue_entry* directly_ahead_of(std::uint32_t number) const noexcept;

  void leave(std::uint32_t number, const queue_entry& who);

  /// Forgets every entry. @returns those that were known.
  std::vector<queue_entry*> forget_all();

 private:
  enum class parent_watch : std::uint8_t { none, asked, set };
  struct member {
    queue_entry* who;
    bool certain;  // the watch was set when it entered, and has been since
  };

  void on_parent_event(watch_event event);

  std::size_t creating_ = 0;
  std::unordered_map<std::uint32_t, member> by_number_;
  parent_watch parent_ = parent_watch::none;
  std::uint64_t epoch_ = 0;  // of the session in which that was asked for
};

}  // namespace latchkey::detail
