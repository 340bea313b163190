// SPDX-License-Identifier: Apache-2.0
#pragma once
// One session of the C client, for the floor: what the C client alone can do.

#include <zookeeper/zookeeper.h>

#include <condition_variable>
#include <mutex>
#include <set>
#include <string>
#include <vector>

namespace bench {

class floor_contender;

/// What the C client's thread tells the thread of a caller.
struct floor_event {
  enum class kind {
    listed,  ///< the reply to a list: how many are ahead, and the nearest of them
    gone,    ///< the node that was watched is not there
    armed,   ///< the watch is in place
  };
  floor_contender* to;
  kind what;
  int code;
};

/// The events for one thread, in their order: one lock and one wake-up for all that has come meanwhile.
class floor_mailbox {
 public:
  void post(floor_event event);
  /// Waits for events. @returns all there are; none after 200 ms without.
  const std::vector<floor_event>& wait();

 private:
  std::mutex lock_;
  std::condition_variable some_;
  std::vector<floor_event> waiting_;
  std::vector<floor_event> taken_;
};

class floor_session {
 public:
  /// Connects to one server; blocks until there is a session.
  explicit floor_session(const std::string& host);
  ~floor_session();
  floor_session(const floor_session&) = delete;
  floor_session& operator=(const floor_session&) = delete;

  zhandle_t* handle() const noexcept { return handle_; }

  /// Creates the path, and what is missing above it; once. Blocks.
  void create_all(const std::string& path);

  /// Frees a server that has missed a wake-up (ZOOKEEPER-4537).
  void nudge();

 private:
  zhandle_t* handle_ = nullptr;
  std::set<std::string> known_;
};

/// @throws std::runtime_error unless `code` is one of success
void expect_ok(int code, const char* what);

}  // namespace bench
