// SPDX-License-Identifier: Apache-2.0
#pragma once

/// A lock whose holder knows one follower only, and for which a client of the leader waits.

#include <chrono>
#include <optional>
#include <string>

#include <latchkey/mutex.hpp>

#include "support/overlap.hpp"
#include "support/support.hpp"

namespace latchkey::testing {

class disputed_lock {
 public:
  /// @param via    the connect string of the holder
  /// @param pause  see `watchman`
  disputed_lock(const std::string& via, std::size_t leader, const client_options& how,
                std::chrono::microseconds pause = {})
      : pause_{pause},
        until_lost_{patience() + 3 * std::chrono::milliseconds{how.session_timeout}},
        first{via, how},
        second{servers().connect_string(leader), how} {
    REQUIRE(missing_connection(first) == "");
    REQUIRE(missing_connection(second) == "");
    servers().create_all(path_);
  }

  void lock() { REQUIRE(try_lock_for(patience())); }
  bool try_lock_for(std::chrono::milliseconds time) {
    try {
      if (!holder_.try_lock_for(time)) return false;
    } catch (const error& failure) {
      REQUIRE(failure.code() == errc::unreachable);  // its server has been cut off for longer than a session lasts
      return false;
    }
    before = holder_.held();
    eye_.emplace(before, pause_);
    return true;
  }
  void let_wait() {
    waiting_.start([this] {
      REQUIRE(successor_.try_lock_for(until_lost_));
      granted_ = boottime_clock::now();
      successor_.unlock();
    });
  }
  /// Waits until another client is in the queue, and only it writes. @returns false when a busy machine has cost the
  /// holder its lock before: its node is gone, too.
  bool is_waited_for() {
    let_wait();
    REQUIRE(eventually([&] { return !before || queue_at(path_).size() == 2; }));
    return bool{before};
  }
  /// Waits until the grant has been extended, or is over. @returns whether it is held.
  bool extended(boottime_clock::time_point until) const {
    REQUIRE(eventually([&] { return !before || before.valid_until() > until; }));
    return bool{before};
  }
  /// Waits until the lock has passed on.
  round finish(bool met_a_holder) {
    waiting_.join();
    REQUIRE(eventually([&] { return eye_->seen_lost(); }));
    return {eye_->last_held() - granted_, met_a_holder};
  }

 private:
  const std::string path_ = fresh_path();
  const std::chrono::microseconds pause_;
  const std::chrono::milliseconds until_lost_;

 public:
  client first;
  client second;
  grant before;

 private:
  mutex holder_{first, path_};
  mutex successor_{second, path_};
  std::optional<watchman> eye_;
  on_threads waiting_;
  boottime_clock::time_point granted_;
};

}  // namespace latchkey::testing
