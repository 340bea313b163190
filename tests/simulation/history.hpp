// SPDX-License-Identifier: Apache-2.0
#pragma once

/// One random history of calls on locks, over a fake ensemble with faults: all of it follows from a seed.

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <latchkey/grant.hpp>

#include "queue/fenced_commit.hpp"
#include "simulation/deletion_record.hpp"
#include "simulation/fault_injector.hpp"
#include "simulation/history_checker.hpp"
#include "simulation/history_plan.hpp"
#include "simulation/queue_record.hpp"
#include "simulation/simulated_lock.hpp"
#include "temporary_folder.hpp"

namespace latchkey::testing {

class history final : queue_watcher {
 public:
  explicit history(const history_plan& plan);
  ~history();

  /// @returns what happened.
  const history_log& run();

  /// @returns how many were sent, of one kind or in all.
  std::size_t requests(std::optional<request_kind> kind = {}) const;
  /// @returns how many grants there were while the node of one that had told its release was still ahead.
  std::size_t told() const noexcept { return told_; }
  std::uint64_t steps() const noexcept { return time_.steps(); }
  fake_ensemble& ensemble() noexcept { return ensemble_; }
  /// Told of every line of the story; for the eyes of whoever looks into a failure.
  void tell_to(std::function<void(const std::string&)> listener);

 private:
  struct lock_object {
    template <class... Args>
    explicit lock_object(simulated_client& client, Args&&... how) : handle{client, std::forward<Args>(how)...} {}
    simulated_lock handle;
    unsigned client_number = 0;
    unsigned number = 0;
    unsigned lock = 0;  // the first of a group
    const lock_plan* plan = nullptr;
  };
  /// What a call is for.
  enum class wish { lock, place, downgrade };
  struct awaited_end final : detail::pending_call::continuation {
    const simulation* clock = nullptr;
    std::optional<time_point> at;
    void run() noexcept override { at = clock->now(); }
  };
  struct actor {
    lock_object* object = nullptr;
    std::uint64_t fiber = 0;
    unsigned calls_left = 0;
    wish what{};
    detail::contender_kind mode{};
    simulated_lock::call call;                        // while it waits
    bool awaits = false;                              // it is a coroutine
    std::shared_ptr<detail::pending<guard>> awaited;  // while that waits
    awaited_end ended;                                // of that
    guard own;                                        // of a coroutine, while it holds
    std::size_t call_number = 0;
    simulated_lock::place place;                    // that it keeps
    std::shared_ptr<detail::lease> place_of_lease;  // of the session when it got it
    grant held;                                     // while it holds
    std::size_t grant_number = 0;                   // of the first of its locks; those of the others follow
    std::vector<path_id> nodes;                     // on which the grants rest; 0: it was not there
    bool done = false;

    bool rests_on(path_id node) const { return std::find(nodes.begin(), nodes.end(), node) != nodes.end(); }
  };

  struct pending_commit {
    std::shared_ptr<detail::fenced_commit> begun;
    std::size_t number = 0;
    actor* unlocks = nullptr;  // when the outcome is known
  };

  std::optional<detail::session_file> open_records() const;
  void kill();
  void add_object(unsigned client, unsigned lock);
  void make_group(lock_settings& settings, unsigned lock);
  hand_off draw_hand_off();
  void add_table(const lock_settings& settings);
  std::unique_ptr<lock_object> make_object(unsigned client, unsigned lock, const lock_settings& settings);

  // What users do: history_users.cpp
  void think(actor& who);
  void begin_call(actor& who);
  void take_place(actor& who, bool again);
  void wait_for_place(actor& who);
  void give_up_place(actor& who);
  void begin(actor& who, call_record call, const std::function<simulated_lock::call()>& enter);
  void cancel_later(actor& who);
  duration draw_timeout(call_record& call);
  void await(actor& who, call_record call, duration timeout);
  void destroy_later(actor& who);
  void finish_await(actor& who);
  void settle(const actor& who);
  void finish_call(actor& who);
  bool finish_calls();
  void on_granted(actor& who);
  void on_refused(actor& who);
  void on_failed(actor& who, const detail::failure& why);
  bool may_fail(const actor& who, errc why);
  void unlock(actor& who);
  void as_user(const simulated_client& of, duration after, std::function<void()> what);

  // What a user repeats without waiting: history_careless.cpp
  void be_careless(simulated_client& client);
  void repeat(simulated_client& client);

  // Transactions: history_commits.cpp
  detail::fenced_steps draw_steps(unsigned lock, std::size_t number, bool releases);
  void commit_later(actor& who);
  void commit_and_unlock(actor& who);
  void begin_commit(actor& who, const grant& held, std::size_t grant_number, bool releases);
  void observe_commits();
  void collect_writes();

  // What becomes of robust locks: history_deaths.cpp
  void collect_deaths();

  // What a grant is like: history_grants.cpp
  void begin_grant(actor& who);
  void record_grant(actor& who, unsigned lock, detail::contender_kind kind, std::optional<std::size_t> writer);
  std::vector<std::pair<unsigned, detail::contender_kind>> locks_of(const actor& who) const;
  bool is_given_up(const std::string& path) const;
  void look_at_queue(const actor& who, grant_record& grant, const queued_node* mine);
  bool sees_new_data(simulated_client& client, unsigned lock) const;
  void begin_downgrade(actor& who);
  void hunt(const actor& who);
  void look_at_hold(const actor& who);
  void on_node_gone(path_id node) override;
  void on_node_replaced(path_id writer, path_id reader) override;
  void ambush(unsigned lock);
  void observe_operators();
  void observe_takeovers();
  std::optional<unsigned> client_of(std::int64_t session) const;
  bool reaches_leader(unsigned client) const;
  void excuse_grants();

  bool step_until(time_point end, const std::function<bool()>& done);
  void observe();
  bool all_done() const;
  void collect_leftovers();
  void close_clients();
  void tell(const std::string& line);
  static std::string lock_name(unsigned lock) { return {static_cast<char>('a' + lock)}; }
  std::string lock_path(unsigned lock) const { return "/locks/" + lock_name(lock); }
  /// @returns where the nodes are on which its grants rest.
  std::string queue_path(unsigned lock) const;
  std::string data_path(unsigned lock) const { return "/data/" + std::to_string(lock); }
  std::vector<std::string> queue_paths() const;
  std::vector<std::string> playground() const;

  const history_plan plan_;
  simulation time_;
  fake_ensemble ensemble_;
  fake_network network_;
  std::size_t told_ = 0;
  std::optional<fault_injector> faults_;
  queue_record queues_;
  time_point faults_until_{};
  std::optional<temporary_folder> records_;  // of the client that is killed
  std::vector<std::unique_ptr<simulated_client>> clients_;
  std::vector<std::shared_ptr<detail::key_table>> tables_;  // of each client, if its locks are keys
  std::vector<std::unique_ptr<lock_object>> objects_;
  std::vector<std::unique_ptr<actor>> actors_;
  std::vector<pending_commit> commits_;
  history_log log_;
  deletion_record deletions_;
  std::size_t deletions_seen_ = 0;
  std::vector<std::size_t> takeovers_;        // the grants of others
  simulated_client* closed_early_ = nullptr;  // its calls may fail
  std::function<void(const std::string&)> listener_;
};

}  // namespace latchkey::testing
