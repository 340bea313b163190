// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Contenders in another process, which are spoken to in lines.

#include <chrono>
#include <condition_variable>
#include <deque>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <latchkey/testing/child_process.hpp>

#include "support/support.hpp"

namespace latchkey::testing {

/// A program that reads "NAME COMMAND ARGUMENTS" and answers "NAME ANSWER", for many names at a time.
/// Killed at the end of its scope at the latest.
class peer {
 public:
  /// @param command the program, by its path, and its arguments
  explicit peer(const std::vector<std::string>& command);
  ~peer();
  peer(const peer&) = delete;
  peer& operator=(const peer&) = delete;

  void say(const std::string& name, std::string_view command);

  /// Waits for the next answer to `name`. @throws std::runtime_error when it has not come within `limit`, and for
  /// one that begins with "failed"
  std::string answer(const std::string& name, std::chrono::milliseconds limit = patience());

  std::string ask(const std::string& name, std::string_view command) {
    say(name, command);
    return answer(name);
  }

  /// @returns whether an answer to `name` is there that nobody has asked for yet.
  bool answered(const std::string& name);

  /// SIGKILL; returns when the process is gone.
  void kill() { process_.kill(); }

 private:
  void read();

  child_process process_;
  std::mutex mutex_;
  std::condition_variable arrived_;
  std::map<std::string, std::deque<std::string>> answers_;
  bool ended_ = false;
  std::thread reader_;
};

}  // namespace latchkey::testing
