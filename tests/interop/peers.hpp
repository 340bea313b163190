// SPDX-License-Identifier: Apache-2.0
#pragma once

/// The peers of latchkey as programs, and one contender in one of them.

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "peer.hpp"
#include "support/support.hpp"

namespace latchkey::testing {

std::unique_ptr<peer> start_curator();
std::unique_ptr<peer> start_kazoo();
std::unique_ptr<peer> start_latchkey();

/// @returns the process of latchkey that tests share which do no harm to it.
peer& latchkeys();

/// @returns the JVM that tests share which do no harm to it.
peer& curator();

/// @returns the Python that tests share which do no harm to it.
peer& kazoo();

/// One contender in another process: a session of its own, one lock at a time.
class contender_there {
 public:
  /// Connects. @param name unique in its process
  contender_there(peer& where, std::string name, const std::string& connect_string = servers().connect_string(),
                  std::chrono::milliseconds session_timeout = 10s);
  ~contender_there();
  contender_there(const contender_there&) = delete;
  contender_there& operator=(const contender_there&) = delete;

  /// Waits for the lock. @returns the czxid of its node
  std::int64_t take(std::string_view kind, std::string_view path);

  /// Begins to wait for the lock; `granted()` is the end of it.
  void queue_up(std::string_view kind, std::string_view path);
  std::int64_t granted();

  /// @returns whether it took the lock in time; a moment, unless it is said how long.
  bool try_take(std::string_view kind, std::string_view path, std::chrono::milliseconds timeout = 300ms);

  void release() { ask("release"); }
  std::string ask(std::string_view command) { return where_.ask(name_, command); }
  void say(std::string_view command) { where_.say(name_, command); }
  std::string answer(std::chrono::milliseconds limit = patience()) { return where_.answer(name_, limit); }
  bool answered() { return where_.answered(name_); }

  /// @returns whether the lock object of the peer says that it has the lock.
  bool believes() { return ask("believes") == "held"; }

  std::int64_t session() const noexcept { return session_; }
  const std::string& name() const noexcept { return name_; }

 private:
  peer& where_;
  std::string name_;
  std::int64_t session_ = 0;
};

/// @returns a name that no contender has had.
std::string fresh_name(std::string_view prefix);

/// @returns whether the session watches the node, on any server.
bool watches(std::int64_t session, const std::string& node);

/// @returns the words of a line, at the separator.
std::vector<std::string> split(std::string_view line, char separator);

}  // namespace latchkey::testing
