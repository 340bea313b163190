// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Threads for what blocks: one a job, gone afterwards.

#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

namespace latchkey::detail {

/// Short-lived threads that block all signals. Jobs may start further ones.
class helper_threads {
 public:
  helper_threads();
  /// Waits for every job, and the further ones they start; not for the job that it is called from, if it is, and not
  /// for what has not come to its second half yet.
  ~helper_threads();
  helper_threads(const helper_threads&) = delete;
  helper_threads& operator=(const helper_threads&) = delete;

  /// Runs `job` on a thread of its own. When the system has no thread for it, it is put off until the next one that
  /// ends, or the destructor.
  void run(std::function<void()> job);

  /// Runs `first`, for which the destructor does not wait, and then what it returned, for which it does; that is
  /// left out when the destructor has begun. `first` must refer to nothing that may be gone by then.
  /// @throws std::system_error when the system has no thread for it
  void run_in_halves(std::function<std::function<void()>()> first);

 private:
  struct state;
  std::shared_ptr<state> state_;
};

}  // namespace latchkey::detail
