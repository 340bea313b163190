// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Contenders of all three languages at one path.

#include <array>
#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "history.hpp"
#include "peers.hpp"

namespace latchkey::testing {

/// @returns `rounds` if LATCHKEY_LONG is in the environment, otherwise a quarter; fewer where a sanitizer slows us down.
std::size_t scaled(std::size_t rounds);

/// Rounds that end with `stop()`.
inline constexpr std::size_t until_stopped = 1'000'000;

/// What each contender does: `count` rounds at `path` with kinds of lock that it goes through in turns, separated by
/// commas.
struct plan {
  std::string path;
  std::size_t count = 0;
  std::chrono::microseconds hold{};
  std::array<std::string, 2> latchkey;  ///< of the processes in turn
  std::string curator;
  std::string kazoo;
};

/// @returns a plan for exclusive locks of every kind.
plan exclusively(std::string path, std::size_t count, std::chrono::microseconds hold);

/// @returns a plan for readers and writers, of latchkey also for writers that become readers (kazoo cannot, Curator
/// before 5.5 does it wrong).
plan reading_and_writing(std::string path, std::size_t count, std::chrono::microseconds hold);

/// How many contenders there are of each language.
struct lineup {
  std::size_t latchkey = 2;  ///< a process each
  std::size_t curator = 2;   ///< two in a JVM
  std::size_t kazoo = 2;     ///< a process each
};

inline constexpr lineup three_of_each{.latchkey = 3, .curator = 3, .kazoo = 0};

/// Contenders that take the lock again and again.
class mixed_contenders {
 public:
  /// @param session_timeout of every contender
  explicit mixed_contenders(std::chrono::milliseconds session_timeout = 10s, lineup who = {});

  /// Begins rounds of each.
  void start(const plan& what, history& into);

  /// Waits until each that is busy has done its rounds.
  void join();

  /// Ends the rounds early, then waits as `join()`.
  void stop();

  /// Waits until each that is busy has been granted the lock `more` times from now. @returns whether it was in time.
  /// @throws std::runtime_error when a contender has failed
  bool all_go_on(history& seen, std::size_t more);

  /// Kills the process that runs the contender of this name, and with it the others there, and notes that.
  void kill(const std::string& name, history& into);

  contender_there& latchkey(std::size_t index) { return *all_.at(index).who; }
  contender_there& curator(std::size_t index) { return *all_.at(lineup_.latchkey + index).who; }
  contender_there& kazoo(std::size_t index) { return *all_.at(lineup_.latchkey + lineup_.curator + index).who; }

 private:
  struct one {
    peer* where = nullptr;
    std::unique_ptr<contender_there> who;
    bool busy = false;  ///< has begun rounds, and has not been killed
  };

  const lineup lineup_;
  std::vector<std::unique_ptr<peer>> processes_;
  std::vector<one> all_;
};

/// Ends the session of a contender, and notes that.
void expire(contender_there& who, history& into);

/// Kills the server that leads, then starts it again: all contenders go on each time.
void check_all_go_on_without_leader(mixed_contenders& all, history& seen);

}  // namespace latchkey::testing
