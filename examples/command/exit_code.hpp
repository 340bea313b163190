// SPDX-License-Identifier: Apache-2.0
#pragma once

/// What the exit code of `latchkey` says.

#include <stdexcept>
#include <string>

#include <latchkey/error.hpp>

namespace command {

/// The numbers above 2 are those of sysexits.h, and of env(1).
enum class exit_code {
  yes = 0,            ///< done; yes
  no = 1,             ///< not moved in time; nothing matches; the node is gone; no candidate leads; its process lives
  usage = 2,          ///< arguments, a path, a sequencer, a settings file or its mode are wrong: nothing was done
  usage_of_run = 64,  ///< the same of `run`, whose command may well exit with 2, and of `doctor`, which does
  unavailable = 69,   ///< the ensemble was not reached, or did not answer in time
  lost = 75,          ///< of `run`: the lock was lost, or about to be, and the command was ended
  denied = 77,        ///< the ensemble refused the credentials, or an ACL denies the request
  max_hold = 124,     ///< of `run`: the command was ended by --max-hold
  failed = 125,       ///< any other failure
  not_executable = 126,  ///< of `run`: the command is there, and cannot be executed
  not_found = 127,       ///< of `run`
};

/// Arguments that are wrong. The text says what to do.
class usage_error : public std::invalid_argument {
 public:
  using std::invalid_argument::invalid_argument;
};

/// @returns what kind of failure of the library it is.
inline latchkey::errc errc_of(const latchkey::error& failed) noexcept {
  return static_cast<latchkey::errc>(failed.code().value());
}

/// @returns the exit code for a failure of the library.
inline exit_code code_of(latchkey::errc what) noexcept {
  using latchkey::errc;
  switch (what) {
    case errc::bad_connect_string:
    case errc::bad_path:
    case errc::bad_option:
    case errc::session_timeout_refused:
    case errc::contract_mismatch:  // --semaphore has another number than all others
    case errc::unsupported:        // --tls with a C client without it
      return exit_code::usage;
    case errc::unresolvable_host:
    case errc::unreachable:
      return exit_code::unavailable;
    case errc::authentication_failed:
    case errc::not_authorized:
      return exit_code::denied;
    case errc::session_file_in_use:
      return exit_code::no;
    case errc::closed:
    case errc::lock_destroyed:
    case errc::parent_is_ephemeral:
    case errc::queue_exhausted:
    case errc::lock_lost:
    case errc::place_lost:
    case errc::refused:
    case errc::too_large:
    case errc::data_lost:
      break;
  }
  return exit_code::failed;
}

/// @returns what the library says, with options of the command line in place of those of C++.
std::string in_terms_of_options(std::string text);
/// @returns the text of a failure, in terms of the command line.
std::string text_of(const latchkey::error& failed);

}  // namespace command
