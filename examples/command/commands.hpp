// SPDX-License-Identifier: Apache-2.0
#pragma once

/// What the commands of `latchkey` do.

#include <chrono>
#include <cstddef>
#include <optional>
#include <ostream>
#include <string>

#include <latchkey/client.hpp>
#include <latchkey/sequencer.hpp>

#include "connection.hpp"
#include "exit_code.hpp"

namespace command {

/// What a command works with. Results go to `out`, all else to the standard error.
struct context {
  latchkey::client& client;
  const budget& time;
  std::ostream& out;
  bool json = false;
};

struct list_options {
  std::string root = "/";
  bool names = false;                                     ///< nothing but the paths, and no node is read
  bool waiting = false;                                   ///< those that a contender waits for
  std::optional<std::chrono::milliseconds> older_than{};  ///< those whose first holder has been there for longer
};

struct watch_options {
  std::string path;
  std::size_t most = 100;  ///< so many contenders are read at a time
  bool semaphore = false;  ///< also if no one holds a permit or waits for one
};

struct evict_options {
  std::string path;
  std::string node;
  bool yes = false;
  bool holder = false;  ///< also if it holds the lock
};

exit_code show_status(const context& with, const std::string& path, std::size_t most);
exit_code list_locks(const context& with, const list_options& how);
/// @param pause between two looks, which must see the same. @returns `no` if there is a possible deadlock
exit_code find_deadlocks(const context& with, const std::string& root, std::chrono::milliseconds pause);
/// @param wait how long to wait until the lock has moved
exit_code ask(const context& with, const std::string& path, std::optional<std::chrono::milliseconds> wait);
exit_code evict(const context& with, const evict_options& what);
exit_code check(const context& with, const latchkey::sequencer& what);
/// How fast locks are with these servers: see bench.hpp.
exit_code bench(const context& with, const settings& connection, const std::string& below,
                std::chrono::milliseconds each);
exit_code show_leader(const context& with, const std::string& path);
/// Print each change until a signal ends it. @pre `block_ending_signals()` was called before the client was made
exit_code follow_leader(const context& with, const std::string& path);
exit_code watch(const context& with, const watch_options& how);

/// Blocks the signals that end what follows changes, for this thread and those it starts.
void block_ending_signals();
/// @returns whether one of them has come.
bool ending_signal_is_pending();

}  // namespace command
