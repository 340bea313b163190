// SPDX-License-Identifier: Apache-2.0
// A lock that the coroutines of one thread wait for, with a task type and an event loop of one's own.

#include <latchkey/async.hpp>
#include <latchkey/mutex.hpp>

#include <condition_variable>
#include <coroutine>
#include <deque>
#include <exception>
#include <functional>
#include <iostream>
#include <mutex>
#include <stop_token>
#include <string>
#include <utility>

#include "with_connect_string.hpp"

namespace {

/// Runs what is posted, on the thread that calls `run()`.
class event_loop {
 public:
  void post(std::function<void()> what) {
    const std::lock_guard lock{mutex_};
    posted_.push_back(std::move(what));
    changed_.notify_one();
  }

  void run(const int& unfinished) {
    while (unfinished > 0) {
      std::unique_lock lock{mutex_};
      changed_.wait(lock, [this] { return !posted_.empty(); });
      const auto next = std::move(posted_.front());
      posted_.pop_front();
      lock.unlock();
      next();
    }
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> posted_;
};

/// A coroutine that nobody waits for.
struct task {
  struct promise_type {
    task get_return_object() { return {}; }
    std::suspend_never initial_suspend() noexcept { return {}; }
    std::suspend_never final_suspend() noexcept { return {}; }
    void return_void() {}
    void unhandled_exception() { std::terminate(); }
  };
};

int unfinished = 10;
int count = 0;  // protected by the lock

task worker(latchkey::mutex& nightly, event_loop& loop) {
  const auto where = [&loop](auto next) { loop.post(std::move(next)); };
  auto held = co_await co_acquire(nightly, where);  // suspends this coroutine; the others of its thread go on
  if (held) ++count;
  held.release();
  --unfinished;
}

bool example(const std::string& connect_string) {
  latchkey::client client{connect_string};
  latchkey::mutex nightly{client, "/locks/coroutines"};

  event_loop loop;
  for (int i = 0; i < 10; ++i) worker(nightly, loop);
  loop.run(unfinished);

  std::cout << count << " coroutines of one thread have had the lock, one after another\n";
  return count == 10;
}

}  // namespace

int main(int argc, char** argv) { return with_connect_string(argc, argv, example); }
