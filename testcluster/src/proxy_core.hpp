// SPDX-License-Identifier: Apache-2.0
#pragma once
// What the connections of a proxy share.

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <mutex>
#include <optional>

#include "deadline.hpp"
#include "latchkey/testing/wire.hpp"

namespace latchkey::testing::detail {

class proxy_connection;

/// What is to happen to one request.
enum class fate { pass, drop, drop_reply, hold_reply };

/// What tests may ask, from any thread; changes wake those that wait.
class observations {
 public:
  /// Changes something: change(*this), with the lock held.
  template <class Change>
  void update(Change change) {
    {
      std::lock_guard lock{mutex_};
      change(*this);
    }
    changed_.notify_all();
  }
  template <class Look>
  auto look(Look see) const {
    std::lock_guard lock{mutex_};
    return see(*this);
  }
  template <class Condition>
  bool wait(std::chrono::milliseconds timeout, Condition holds) const {
    std::unique_lock lock{mutex_};
    return changed_.wait_until(lock, detail::deadline_after(timeout), [&] { return holds(*this); });
  }

  std::map<opcode, std::uint64_t> requests;
  std::size_t faults_left = 0;  // armed, or of a request whose reply has not come yet
  std::optional<session_credentials> last_session;
  struct attachment {
    std::int64_t session;
    std::size_t server;
  };
  std::map<const proxy_connection*, attachment> attached;

 private:
  mutable std::mutex mutex_;
  mutable std::condition_variable changed_;
};

/// Faults that wait for their request. Lives on the loop's thread.
class armed_faults {
 public:
  void arm(opcode operation, fate what) { faults_.push_back({operation, what}); }
  void disarm() { faults_.clear(); }
  /// @returns the fault of this request, which is then used up
  fate take(opcode operation) {
    const auto found =
        std::find_if(faults_.begin(), faults_.end(), [&](const auto& each) { return each.operation == operation; });
    if (found == faults_.end()) return fate::pass;
    const auto what = found->what;
    faults_.erase(found);
    return what;
  }
  [[nodiscard]] std::size_t size() const noexcept { return faults_.size(); }

 private:
  struct fault {
    opcode operation;
    fate what;
  };
  std::deque<fault> faults_;
};

/// On the loop's thread, but for `seen`.
struct proxy_core {
  std::chrono::milliseconds delay{0};
  armed_faults armed;
  std::size_t unstruck = 0;  // requests that have passed and whose replies are to be dropped or held
  observations seen;

  /// Tells `seen` about the faults; call it after they, and what they did, have changed.
  void publish_faults() {
    seen.update([&](observations& s) { s.faults_left = armed.size() + unstruck; });
  }
};

}  // namespace latchkey::testing::detail
