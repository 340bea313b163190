// SPDX-License-Identifier: Apache-2.0
#pragma once

/// A `client_options::session_file` on its file system.

#include <cstdint>
#include <string>
#include <vector>

#include "base/process.hpp"
#include "session/session_record.hpp"

namespace latchkey::detail {

/// The sessions that a client, or a process that has died, has recorded. The file is locked as long as this object lives.
///
/// It is written anew with each change, in place: what the system has taken survives the death of the process. It is not
/// forced to the disk, since after a loss of power the sessions end by themselves. What is lost, or damaged, costs the
/// next run the session timeout, and no more.
class session_file {
 public:
  enum class purpose : std::uint8_t {
    keep,  ///< of a client: it is made if it is missing
    read,  ///< of what a process has left
  };

  /// @throws error session_file_in_use; bad_option (it is missing, not a session file, cannot be written, may be written
  /// by others, or is not on a local file system)
  session_file(const std::string& path, purpose what_for);
  session_file(session_file&&) = default;
  session_file& operator=(session_file&&) = default;
  /// The file is free for any process, also while this one lives.
  ~session_file();

  /// The sessions that are not known to be over: at first those that have been left.
  const std::vector<recorded_session>& sessions() const noexcept { return sessions_; }
  /// Who has left them; 0: the file names no process.
  std::int64_t left_by() const noexcept { return left_by_; }

  /// Says once, in the log, if it cannot be written.
  void add(recorded_session session);
  void end(std::int64_t session);

 private:
  void write();
  void write_or_say();

  std::string path_;
  unshared_file file_;
  process_mark owner_;
  bool is_own_ = false;
  std::int64_t left_by_ = 0;
  std::vector<recorded_session> sessions_;
  bool said_ = false;
};

/// @returns this process.
process_mark this_process();
/// @returns whether this very process is there, and has not died. No, if that cannot be seen from here.
bool is_alive(const process_mark& process);

}  // namespace latchkey::detail
