// SPDX-License-Identifier: Apache-2.0
#include "bridge/helper_threads.hpp"

#include <algorithm>
#include <system_error>
#include <utility>

#include "bridge/blocked_signals.hpp"

namespace latchkey::detail {

/// Shared with the threads, which outlive the destructor by a few instructions, or by a name server's timeout.
struct helper_threads::state {
  std::mutex mutex;
  std::condition_variable changed;
  bool ending = false;
  std::size_t working = 0;               // jobs begun or sure to begin
  std::vector<std::thread::id> workers;  // those of `working` that run
  std::vector<std::function<void()>> put_off;

  /// Runs a job that is counted in `working`, then what was put off meanwhile.
  void work(std::function<void()> job) {
    std::unique_lock lock{mutex};
    workers.push_back(std::this_thread::get_id());
    for (;;) {
      lock.unlock();
      job();
      job = nullptr;  // what it holds goes before it is said to be done
      lock.lock();
      if (put_off.empty()) break;
      job = std::move(put_off.back());
      put_off.pop_back();
    }
    std::erase(workers, std::this_thread::get_id());
    --working;
    changed.notify_all();
  }
};

helper_threads::helper_threads() : state_{std::make_shared<state>()} {}

helper_threads::~helper_threads() {
  auto& shared = *state_;
  std::unique_lock lock{shared.mutex};
  shared.ending = true;
  const bool from_job =
      std::find(shared.workers.begin(), shared.workers.end(), std::this_thread::get_id()) != shared.workers.end();
  shared.changed.wait(lock, [&] { return shared.working == (from_job ? 1u : 0u); });
  while (!shared.put_off.empty()) {
    const auto job = std::move(shared.put_off.back());
    shared.put_off.pop_back();
    lock.unlock();
    job();
    lock.lock();
  }
}

void helper_threads::run(std::function<void()> job) {
  {
    const std::lock_guard lock{state_->mutex};
    ++state_->working;
  }
  const auto shared_job = std::make_shared<std::function<void()>>(std::move(job));
  try {
    const blocked_signals inherited;
    std::thread{[shared = state_, shared_job] { shared->work(std::move(*shared_job)); }}.detach();
  } catch (const std::system_error&) {
    const std::lock_guard lock{state_->mutex};
    --state_->working;
    state_->put_off.push_back(std::move(*shared_job));
    state_->changed.notify_all();
  }
}

void helper_threads::run_in_halves(std::function<std::function<void()>()> first) {
  const blocked_signals inherited;
  std::thread{[shared = state_, first = std::move(first)]() mutable {
    auto second = first();
    first = nullptr;
    {
      const std::lock_guard lock{shared->mutex};
      if (shared->ending) return;
      ++shared->working;
    }
    shared->work(std::move(second));
  }}.detach();
}

}  // namespace latchkey::detail
