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

/// An entry as its neighbours see it.
class neighbour {
 public:
  virtual ~neighbour() = default;

  /// @returns whether it waits for a neighbour ahead.
  bool follows() const noexcept { return ahead_ != nullptr; }
  /// @returns whether a neighbour behind waits for it.
  bool followed() const noexcept { return behind_ != nullptr; }

  /// Its numbers mean nothing any more: it waits for no entry.
  virtual void on_neighbours_forgotten() = 0;
  /// Its parent has been deleted, and its node with it.
  virtual void on_parent_gone() = 0;

 private:
  friend class neighbours;
  virtual std::shared_ptr<neighbour> keep_alive() = 0;

  neighbour* ahead_ = nullptr;
  neighbour* behind_ = nullptr;
  std::uint32_t number_ = 0;
  bool in_line_ = false;
  bool certain_ = false;  // the watch on the parent was set when it entered, and has been since
};

/// The entries of one lock object, by their numbers. If two numbers are adjacent, the entry behind waits for the one
/// ahead only: it needs neither list nor watch, and is woken without a request.
///
/// Numbers are comparable under one parent only: they begin again when it is deleted. Therefore a watch is kept on the
/// parent while several entries come. Events come in the order of the deletions (Z4): two nodes whose creates were
/// answered while the same watch was set have the same parent.
///
/// Invariant: whom one waits for is in the line, is ahead, and no other waits for it. All are of one session.
class neighbours final : public std::enable_shared_from_this<neighbours> {
 public:
  /// @returns whether a node of ours is in the queue, or being created: the next one may well have a neighbour.
  bool any() const noexcept { return creating_ != 0 || !by_number_.empty(); }

  /// Asks for the watch on the parent, unless that is asked for or set. To be sent ahead of a create.
  void watch_parent(session& through, const std::string& path);

  void create_sent() noexcept { ++creating_; }
  void create_answered() noexcept { --creating_; }

  /// Its create has been answered. One parent gives a number once: if it is here already, the line is forgotten first.
  void enter(neighbour& who, std::uint32_t number, const session& through);

  /// @returns the entry with this number, perhaps under another parent; null if it is not ours, or has left.
  neighbour* at(std::uint32_t number) const noexcept;

  /// `who` waits for the entry directly ahead. @returns false if it cannot: that is not ours, may be under another
  /// parent, or another waits for it.
  bool follow_directly(neighbour& who);

  /// `who` waits for `ahead`, which is under the same parent. @returns false if it cannot: another waits for that.
  bool follow(neighbour& who, neighbour& ahead);

  /// The one behind waits for the one ahead from now on. @returns the one behind if none of ours is ahead of it now.
  neighbour* leave(neighbour& who);

  /// Forgets every entry.
  void forget();
  /// The same, of a session that is over: the entries hear of that themselves.
  void clear() { unlink_all(); }

 private:
  enum class parent_watch : std::uint8_t { none, asked, set };
  struct unlinked {
    std::shared_ptr<neighbour> who;
    bool waited;
  };

  std::vector<unlinked> unlink_all();
  void on_parent_event(watch_event event);

  std::size_t creating_ = 0;
  std::unordered_map<std::uint32_t, neighbour*> by_number_;
  parent_watch parent_ = parent_watch::none;
  std::uint64_t epoch_ = 0;  // of the session in which that was asked for
};

}  // namespace latchkey::detail
