// SPDX-License-Identifier: Apache-2.0
#pragma once

/// What the name servers have said of the hosts of a connect string.

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace latchkey::detail {

/// Remembers the addresses of each host. What resolves is used: a host whose name does not resolve keeps the addresses
/// that it had, and hides no other. An address goes only when every name that had it has others.
///
/// Names are looked up in rounds, each on its own: an answer is used when it comes, and a name that is slow holds up no
/// other, nor do many of them hold up one that is known: those come first, and have threads of their own beyond the others'. Thread-safe. `look_up_next` and `wait_for_servers` block, for many seconds when name servers do not answer: on
/// helper threads only.
class known_hosts {
 public:
  struct servers {
    std::string list;     ///< as the C client reads it, in random order; empty when there is none
    std::string failure;  ///< names the hosts that do not resolve, and says why; empty when all do
  };
  struct answer {
    std::string moved;        ///< the servers as in `servers::list`, if they are others than
    std::uint64_t epoch = 0;  ///< this session was given last
  };

  /// @param names "name:port", "1.2.3.4:port" or "[::1]:port"
  explicit known_hosts(const std::vector<std::string>& names);

  /// Each name is to be looked up once more. Numeric addresses are not, nor is a name that is being looked up.
  /// @returns how many further threads are to do that, so that no more than `most` wait for name servers, and `most_known`
  /// more for the names that have addresses.
  std::size_t begin_round(std::size_t most);
  /// Looks up one of the names of this round. @returns nothing when none is left: the thread has done its part.
  std::optional<answer> look_up_next();
  /// The system has no such thread.
  void go_without(std::size_t threads);

  /// For a session that is to be opened: waits until the round is over, or for a moment if a host has an address by then.
  /// @param epoch 0: of a second one, which no answer of `look_up_next` is for
  /// @param without addresses that it is not to be given
  servers wait_for_servers(std::uint64_t epoch, const std::vector<std::string>& without);

  /// Ends each such wait, also those to come.
  void stop_waiting();

  /// So many addresses of a name are used at a time. The C client tries one after another: a name with a thousand that are of
  /// no use would hide the servers of the others for longer than a session lasts.
  static constexpr std::size_t most_of_a_name = 64;
  static constexpr std::size_t most_known = 64;

 private:
  struct host {
    std::string name;
    std::vector<std::string> addresses{};
    std::string failure{};
    std::string said{};  // in the log
    bool is_due = false;
    bool is_asked = false;

    bool is_known() const noexcept { return !addresses.empty(); }
  };

  host* next_due();
  std::vector<std::string> addresses() const;
  std::string failures() const;
  void say_failures();

  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<host> hosts_;  // neither grows nor shrinks; a name never changes
  std::size_t threads_ = 0;  // that look names up,
  std::size_t most_ = 0;     // and how many may look up those that are not known
  bool stopped_ = false;
  std::uint64_t epoch_ = 0;           // the session that was opened last,
  std::vector<std::string> given_;    // the addresses that it has, sorted,
  std::vector<std::string> without_;  // and those that it is not to have
};

}  // namespace latchkey::detail
