// SPDX-License-Identifier: Apache-2.0
#pragma once

/// The worker's end of the pipes between the tour and a worker.

#include <atomic>
#include <boost/fiber/future/promise.hpp>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <map>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <thread>

#include "event.hpp"

namespace tour {

/// Speaks lines on stdin and stdout. Of the worker: `event ...`, `write <id> <token> <value>`, `overtaken <id>
/// <token>`, `bye`. Of the tour: `answer <id> yes|no`, `linger`, `stop`, `do <order>`. When the tour is gone, so is the
/// process. Thread-safe.
class parent_link {
 public:
  parent_link();
  ~parent_link();  ///< says goodbye; @pre no thread waits for an answer
  parent_link(const parent_link&) = delete;
  parent_link& operator=(const parent_link&) = delete;

  void tell(const event& what);

  /// Writes to the store of the tour; suspends the fiber. @returns whether the store took it.
  bool write(latchkey::fencing_token token, const std::string& value);

  /// Waits until the store has taken a write with a larger token; suspends the fiber. @returns false when the tour ends
  /// first.
  bool wait_until_overtaken(latchkey::fencing_token token);

  /// @returns whether the tour has asked one holder to linger; once for each time it did.
  bool take_linger() noexcept { return linger_.exchange(false); }

  /// Waits for the next order; blocks the thread. @returns nothing when the tour has said stop.
  std::optional<std::string> next_order();

  std::stop_token stop_token() const noexcept { return stop_.get_token(); }

  /// To be called by every thread of fibers before it ends: until no thread is waking one of its fibers.
  void settle();

 private:
  bool ask(std::string_view what, latchkey::fencing_token token, std::string_view rest);
  void send(const std::string& line);
  void read();
  void obey(std::string_view line);

  std::mutex writing_;
  std::mutex answering_;
  std::map<std::int64_t, boost::fibers::promise<bool>> questions_;
  std::int64_t last_question_ = 0;
  std::mutex ordering_;
  std::condition_variable_any ordered_;
  std::deque<std::string> orders_;
  std::atomic<bool> linger_{false};
  std::atomic<bool> leaving_{false};
  std::stop_source stop_;
  std::thread reader_;
};

}  // namespace tour
