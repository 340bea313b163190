// SPDX-License-Identifier: Apache-2.0
#include "session/events.hpp"

#include <condition_variable>
#include <deque>
#include <mutex>
#include <utility>
#include <vector>

#include "bridge/blocked_signals.hpp"

namespace latchkey::detail {

struct event_thread::state {
  struct posted {
    std::function<void()> callback;
    when_abandoned what;
    const char* name;
  };

  std::mutex mutex;
  std::condition_variable changed;
  std::deque<posted> queue;
  std::uint64_t count = 0;
  running last{1, nullptr};  // or the present one
  bool busy = false;
  bool stopping = false;
  bool over = false;  // ended, or abandoned
  bool joinable = true;
  std::vector<std::function<void()>> on_ended;

  static thread_local const state* mine;  // of the thread that runs
  void run();
  void end(std::unique_lock<std::mutex>& lock);
};

thread_local const event_thread::state* event_thread::state::mine = nullptr;

void event_thread::state::run() {
  mine = this;
  std::unique_lock lock{mutex};
  while (true) {
    changed.wait(lock, [this] { return stopping || !queue.empty(); });
    if (queue.empty()) break;
    auto next = std::move(queue.front());
    queue.pop_front();
    last = {last.number + 1, next.name};
    busy = true;
    const bool dropped = over && next.what == when_abandoned::drop;
    lock.unlock();
    if (!dropped) next.callback();
    next.callback = nullptr;  // what it holds goes without the lock
    lock.lock();
    busy = false;
  }
  end(lock);
}

void event_thread::state::end(std::unique_lock<std::mutex>& lock) {
  over = true;
  const auto told = std::exchange(on_ended, {});
  lock.unlock();
  for (const auto& each : told) each();
  lock.lock();
}

event_thread::event_thread() : state_{std::make_shared<state>()} {
  const blocked_signals none;
  thread_ = std::thread{[shared = state_] { shared->run(); }};
}

bool event_thread::is_this_thread() const noexcept { return state::mine == state_.get(); }

event_thread::~event_thread() { stop(); }

std::uint64_t event_thread::post(std::function<void()> callback, when_abandoned what, const char* name) {
  std::uint64_t count = 0;
  {
    const std::lock_guard lock{state_->mutex};
    if (state_->stopping) return state_->count;
    state_->queue.push_back({std::move(callback), what, name});
    count = ++state_->count;
  }
  state_->changed.notify_one();
  return count;
}

std::uint64_t event_thread::posted() const {
  const std::lock_guard lock{state_->mutex};
  return state_->count;
}

event_thread::running event_thread::now() const {
  const std::lock_guard lock{state_->mutex};
  return state_->busy || !state_->queue.empty() ? state_->last : running{};
}

void event_thread::stop(std::function<void()> on_ended) {
  {
    std::unique_lock lock{state_->mutex};
    state_->stopping = true;
    if (!state_->over) {
      state_->on_ended.push_back(std::exchange(on_ended, nullptr));
    }
  }
  state_->changed.notify_one();
  if (on_ended) on_ended();
}

event_thread::running event_thread::abandon() {
  std::unique_lock lock{state_->mutex};
  if (state_->over) return {};
  state_->joinable = false;
  thread_.detach();
  state_->end(lock);
  return state_->last;
}

void event_thread::stop() {
  stop([] {});
  {
    const std::lock_guard lock{state_->mutex};
    if (!std::exchange(state_->joinable, false)) return;
  }
  thread_.join();
}

}  // namespace latchkey::detail
