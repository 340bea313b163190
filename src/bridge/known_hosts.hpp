// SPDX-License-Identifier: Apache-2.0
#pragma once

/// What the name servers have said of the hosts of a connect string.

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
/// Thread-safe. `look_up_all` and `look_up_next` ask the name servers and block, for many seconds when those do not
/// answer: on helper threads only.
class known_hosts {
 public:
  struct servers {
    std::string list;     ///< as the C client reads it, in random order; empty when there is none
    std::string failure;  ///< names the hosts that do not resolve, and says why; empty when all do
  };

  /// @param names "name:port", "1.2.3.4:port" or "[::1]:port"
  explicit known_hosts(const std::vector<std::string>& names);

  /// For a session that is to be opened. @param epoch 0: of a second one, which no answer of `look_up_next` is for
  /// @param without addresses that it is not to be given
  servers look_up_all(std::uint64_t epoch, const std::vector<std::string>& without);

  /// Each name is to be looked up once more. Numeric addresses are not, nor is a name that is being looked up.
  /// @returns how many threads are to do that, so that no more than `most` wait for name servers.
  std::size_t begin_round(std::size_t most);

  struct answer {
    std::string moved;  ///< the servers as in `servers::list`, if they are others than those the session was given last
  };
  /// Looks up one of the names of this round. @returns nothing when none is left.
  std::optional<answer> look_up_next(std::uint64_t epoch);

 private:
  struct host {
    std::string name;
    std::vector<std::string> addresses{};
    std::string failure{};
    bool is_due = false;
    bool is_asked = false;
  };

  std::optional<std::size_t> take();
  void learn(host& about, std::vector<std::string> addresses, std::string failure);
  std::vector<std::string> addresses() const;
  std::string failures() const;

  std::mutex mutex_;
  std::vector<host> hosts_;
  std::uint64_t epoch_ = 0;           // the session that was opened last,
  std::vector<std::string> given_;    // the addresses that it has, sorted,
  std::vector<std::string> without_;  // and those that it is not to have
};

}  // namespace latchkey::detail
