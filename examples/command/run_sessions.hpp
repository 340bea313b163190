// SPDX-License-Identifier: Apache-2.0
#pragma once

/// What a run leaves for the next ones of this host, should it be killed: which session was its own, and whether a process
/// of its tree still lives. And `latchkey release`.

#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include "connection.hpp"
#include "descriptor.hpp"
#include "exit_code.hpp"

namespace command {

/// Two files of one run. The first is the `session_file` of its client. The second is locked, and all processes of the run
/// inherit the open file: it can be locked again when none of them is left, but for one that has closed it on purpose. Only
/// then may the session be ended: after the death of the runner the guard is still killing.
class run_session {
 public:
  /// @param folder of `--session-file`; empty: the default one, if there is one @pre no thread
  /// @returns nothing if there is none. @throws usage_error for a folder that was given and cannot be used
  static std::unique_ptr<run_session> make(const std::string& folder, const std::vector<std::string>& paths,
                                           const settings& with);
  /// Removes both, unless a session is left in the first.
  ~run_session();
  run_session(const run_session&) = delete;
  run_session& operator=(const run_session&) = delete;

  const std::string& file() const noexcept { return session_; }

 private:
  run_session(const std::string& folder, const std::vector<std::string>& paths, const settings& with);

  const settings& with_;
  std::string session_;
  std::string tree_;
  descriptor lock_{-1};
};

/// Ends the sessions of runs under one of these locks of which no process is left, in a process of its own.
/// @pre no thread
void end_left_run_sessions(const std::string& folder, const std::vector<std::string>& paths, const settings& with);

/// `latchkey release`.
exit_code release(const settings& with, const std::string& file, std::ostream& out, bool json);

}  // namespace command
