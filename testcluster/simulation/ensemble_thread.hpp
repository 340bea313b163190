// SPDX-License-Identifier: Apache-2.0
#pragma once

/// A fake ensemble on a thread of its own, for clients on other threads.

#include <atomic>
#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "base/process.hpp"
#include "bridge/wait_point.hpp"
#include "session/simulated_servers.hpp"
#include "simulation/fake_ensemble.hpp"
#include "simulation/shifted_clock.hpp"

namespace latchkey::testing {

class thread_connector;

/// The thread does all there is to do: what clients have sent, the ensemble, the timers of the clients, and verbs, in
/// the order of their times. Everything else only leaves messages.
class ensemble_thread final : public detail::simulated_servers, public std::enable_shared_from_this<ensemble_thread> {
 public:
  using action = simulation::action;

  /// @returns one whose thread ends with the last reference.
  static std::shared_ptr<ensemble_thread> start();

  // From any thread:

  detail::time_point now() const override { return clock_.now(); }

  std::unique_ptr<detail::simulated_connector> connect(std::chrono::milliseconds session_timeout) override;

  /// Leaves a message, which is read before the next event. Does not wait.
  void post(action message);

  /// The first timer of a client has become an earlier one.
  void look_again();

  /// Runs `verb`, then everything that is due, then the callbacks of users that are due. Suspends the calling fiber, or
  /// blocks a plain thread.
  /// @throws std::system_error resource_deadlock_would_occur when called from such a callback
  void perform(action verb);

  bool is_this_thread() const noexcept { return std::this_thread::get_id() == thread_.get_id(); }

  // On the thread:

  simulation& time() noexcept { return time_; }
  fake_ensemble& ensemble() noexcept { return ensemble_; }
  std::vector<thread_connector*>& clients() noexcept { return clients_; }
  /// @returns nothing if no client has this core.
  thread_connector* client_of(const detail::client_core* core) noexcept;

  /// Lets time go on, through everything that happens until then.
  void advance(detail::duration by);

  /// No client can connect, whenever it is made.
  bool all_cut = false;

 private:
  struct asked_verb {
    action what;
    std::shared_ptr<detail::wait_point> done;
  };

  ensemble_thread();
  /// @throws error closed in a forked child, which does not have this thread
  void require_home() const;
  void run();
  void stop();
  /// Runs what is due, and what follows from that at once.
  void settle();
  /// The same, and waits for the callbacks of users.
  void settle_with_callbacks();
  void wait_for_change();
  bool read_messages();
  std::optional<asked_verb> next_verb();

  const detail::home home_;
  shifted_clock clock_;
  simulation time_;
  fake_ensemble ensemble_;
  std::vector<thread_connector*> clients_;

  std::mutex mutex_;
  std::condition_variable changed_;
  bool has_changed_ = false;
  std::atomic<bool> stopping_{false};
  std::deque<action> messages_;
  std::deque<asked_verb> verbs_;

  std::thread thread_;
};

}  // namespace latchkey::testing
