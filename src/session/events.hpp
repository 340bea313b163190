// SPDX-License-Identifier: Apache-2.0
#pragma once

/// The thread on which callbacks of users run.

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>

namespace latchkey::detail {

/// Runs callbacks one after another, in the order they were posted. A slow one delays the ones after it and nothing
/// else.
class event_thread {
 public:
  event_thread();
  ~event_thread();
  event_thread(const event_thread&) = delete;
  event_thread& operator=(const event_thread&) = delete;

  /// From any thread; does not wait. After `stop()` nothing happens.
  void post(std::function<void()> callback);

  /// Runs what has been posted, then ends and joins the thread. Not from a callback.
  void stop();

  bool is_this_thread() const noexcept { return id_ == std::this_thread::get_id(); }

 private:
  void run();

  std::mutex mutex_;
  std::condition_variable posted_;
  std::deque<std::function<void()>> queue_;
  bool stopping_ = false;
  std::thread thread_;
  std::thread::id id_;  // also while `stop()` joins on another thread
};

}  // namespace latchkey::detail
