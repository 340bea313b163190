// SPDX-License-Identifier: Apache-2.0
#pragma once
// The lock recipe on the C client alone, with the fewest requests that can be correct.

#include <cstddef>
#include <functional>
#include <string>

#include "floor_session.hpp"

namespace bench {

/// One contender for one lock. Its replies are read on the C client's thread, and handed to the thread of the caller,
/// who hears `granted` there: a lock is for code that runs on a thread of its own.
///
/// Create and list are sent back to back; the deletion is not awaited; the nearest node ahead is watched with a read;
/// when it was the only one ahead, its end is the grant.
class floor_contender {
 public:
  floor_contender(floor_session& session, floor_mailbox& mailbox, std::string path, std::function<void()> granted);
  floor_contender(const floor_contender&) = delete;
  floor_contender& operator=(const floor_contender&) = delete;

  void lock();
  void unlock();
  /// Only lists, and posts `listed`.
  void look();
  /// To be called with each event that the mailbox has for us.
  void on(const floor_event& event);

  std::size_t ahead() const noexcept { return ahead_; }
  /// Whether it waits, with its watch in place.
  bool waiting() const noexcept { return waiting_; }

 private:
  struct replies;

  void list();
  void read(const String_vector& names);
  void watch();

  floor_session& session_;
  floor_mailbox& mailbox_;
  const std::string path_;
  const std::string prefix_;
  std::function<void()> granted_;
  std::string name_;         // of our node, without the path
  std::string predecessor_;  // the nearest ahead
  std::size_t ahead_ = 0;
  int created_ = 0;
  bool locking_ = false;
  bool waiting_ = false;
};

}  // namespace bench
