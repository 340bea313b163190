// SPDX-License-Identifier: Apache-2.0
#pragma once

/// What contenders of all languages have written down, and the periods of ownership that it amounts to.

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace latchkey::testing {

/// From a grant to what ended it: what one contender believed. Times are of CLOCK_MONOTONIC, in nanoseconds.
struct period {
  std::string who;
  std::string kind;  ///< mutex, write, read, downgraded
  std::int64_t granted = 0;
  std::int64_t ended = 0;  ///< at most; `unended` when nothing was written
  std::int64_t session = 0;
  std::int64_t czxid = 0;  ///< of its node; 0 when it was gone before its holder could look

  static constexpr std::int64_t unended = INT64_MAX;

  bool exclusive() const noexcept { return kind == "mutex" || kind == "write"; }
};

/// A file that many processes append to, a line with each write.
/// granted  WHO KIND TIME SESSION CZXID     released WHO KIND TIME SESSION CZXID
/// lost     WHO KIND TIME SESSION CZXID     TIME: when the holder last knew that it held
/// failed   WHO KIND TIME SESSION CZXID     the release, after a loss
/// expired  SESSION TIME                    killed WHO TIME
/// SESSION is 0 when the client knew already that the session with its node was over: there is nothing that it held.
class history {
 public:
  history();
  ~history();  ///< removes the file, unless LATCHKEY_KEEP_DATA is set
  history(const history&) = delete;
  history& operator=(const history&) = delete;

  /// @returns where contenders append.
  std::string path() const { return path_.string(); }

  /// The session ends now, at the order of the test: what it held is over, whatever its holder believes.
  void expired(std::int64_t session);

  /// The contender dies now.
  void killed(const std::string& who);

  /// @returns how often each contender was granted the lock until now.
  std::map<std::string, std::size_t> grants();

  /// @returns the periods, in the order of their grants. @throws std::runtime_error for a line that makes no sense
  std::vector<period> periods() const;

 private:
  void append(std::string_view line) const;

  std::filesystem::path path_;
  std::size_t counted_ = 0;  ///< bytes of the file
  std::map<std::string, std::size_t> grants_;
};

/// @returns the time of CLOCK_MONOTONIC, in nanoseconds.
std::int64_t monotonic_now();

/// @returns the periods of what `text` tells, as `history::periods`.
std::vector<period> read_periods(std::string_view text);

}  // namespace latchkey::testing
