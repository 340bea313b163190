// SPDX-License-Identifier: Apache-2.0
#pragma once

/// One random history of calls on locks, over a fake ensemble with faults: all of it follows from a seed.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <latchkey/grant.hpp>

#include "fake/fault_injector.hpp"
#include "fake/simulated_client.hpp"
#include "history_checker.hpp"

namespace latchkey::testing {

/// What a seed decides before anything happens.
struct history_plan {
  std::uint64_t seed = 0;
  duration timeout{};  ///< of the sessions
  unsigned clients = 0;
  unsigned locks = 0;
  unsigned callers = 0;  ///< of each lock object
  unsigned calls = 0;    ///< of each caller
  std::uint32_t turns = 0;
  duration longest_hold{};
  duration longest_thought{};  ///< between two calls
  duration faults{};           ///< for how long things go wrong; then all must come right
  /// That right after a grant the server of its client is cut off from the quorum: the moment when least is known to
  /// the leader about the session (DESIGN.md, 6).
  double hunted = 0;
  bool operators = false;
  bool a_client_closes = false;
  fault_plan weather;

  static history_plan draw(std::uint64_t seed);
};

class history {
 public:
  explicit history(const history_plan& plan);
  ~history();

  /// @returns what happened.
  const history_log& run();

  std::size_t requests() const;
  std::uint64_t steps() const noexcept { return time_.steps(); }
  fake_ensemble& ensemble() noexcept { return ensemble_; }
  /// Told of every line of the story; for the eyes of whoever looks into a failure.
  void tell_to(std::function<void(const std::string&)> listener);

 private:
  struct lock_object {
    simulated_client* client = nullptr;
    unsigned client_number = 0;
    unsigned number = 0;
    unsigned lock = 0;
    std::shared_ptr<detail::seat> seat;
  };
  struct actor {
    lock_object* object = nullptr;
    std::uint64_t fiber = 0;
    unsigned calls_left = 0;
    std::shared_ptr<detail::caller> call;  // while it waits
    std::size_t call_number = 0;
    grant held;  // while it holds
    std::size_t grant_number = 0;
    path_id node = 0;  // on which the grant rests; 0: it was not there
    bool done = false;
  };

  void think(actor& who);
  void begin_call(actor& who);
  void finish_call(actor& who);
  void begin_grant(actor& who);
  void unlock(actor& who);
  void hunt(const actor& who);
  path_id look_at_queue(grant_record& grant);
  std::string_view node_of(const grant_record& grant) const;
  void as_user(const simulated_client& of, duration after, std::function<void()> what);

  bool step_until(time_point end, const std::function<bool()>& done);
  void observe();
  void look_at_commits();
  void on_node_gone(path_id node);
  bool all_done() const;
  void collect_leftovers();
  void close_clients();
  void tell(const std::string& line);
  std::string lock_path(unsigned lock) const { return "/locks/" + std::string(1, static_cast<char>('a' + lock)); }
  std::vector<std::string> lock_paths() const;

  const history_plan plan_;
  simulation time_;
  fake_ensemble ensemble_;
  std::optional<fault_injector> faults_;
  time_point faults_until_{};
  std::vector<std::unique_ptr<simulated_client>> clients_;
  std::vector<std::unique_ptr<lock_object>> objects_;
  std::vector<std::unique_ptr<actor>> actors_;
  history_log log_;
  std::size_t commits_seen_ = 0;
  simulated_client* closed_early_ = nullptr;  // its calls may fail
  std::function<void(const std::string&)> listener_;
};

}  // namespace latchkey::testing
