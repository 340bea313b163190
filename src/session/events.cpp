// SPDX-License-Identifier: Apache-2.0
#include "session/events.hpp"

#include "bridge/blocked_signals.hpp"

namespace latchkey::detail {

event_thread::event_thread() {
  const blocked_signals none;
  thread_ = std::thread{[this] { run(); }};
  id_ = thread_.get_id();
}

event_thread::~event_thread() { stop(); }

void event_thread::post(std::function<void()> callback) {
  {
    const std::lock_guard lock{mutex_};
    if (stopping_) return;
    queue_.push_back(std::move(callback));
  }
  posted_.notify_one();
}

void event_thread::stop() {
  {
    const std::lock_guard lock{mutex_};
    stopping_ = true;
  }
  posted_.notify_one();
  if (thread_.joinable()) thread_.join();
}

void event_thread::run() {
  std::unique_lock lock{mutex_};
  while (true) {
    posted_.wait(lock, [this] { return stopping_ || !queue_.empty(); });
    if (queue_.empty()) return;
    {
      const auto callback = std::move(queue_.front());
      queue_.pop_front();
      lock.unlock();
      callback();
    }
    lock.lock();
  }
}

}  // namespace latchkey::detail
