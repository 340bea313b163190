// SPDX-License-Identifier: Apache-2.0
#pragma once

/// A client of latchkey on a fake ensemble: what `latchkey::client` is on a real one.

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/path.hpp"
#include "recipes/fair/fair_places.hpp"
#include "recipes/joint/joint_lock.hpp"
#include "recipes/keyed/key_table.hpp"
#include "recipes/line/cohort.hpp"
#include "recipes/robust/robust_line.hpp"
#include "recipes/rules.hpp"
#include "recipes/semaphore/permit_line.hpp"
#include "recipes/shared/shared_state.hpp"
#include "session/client_core.hpp"
#include "simulation/fake_connector.hpp"
#include "simulation/fake_network.hpp"

namespace latchkey::testing {

/// Its timers are those of the simulation. It must be destroyed before the ensemble and the simulation.
class simulated_client {
 public:
  /// @param network that its datagrams go through; null: it sends none. It must outlive the client
  explicit simulated_client(fake_ensemble& ensemble, client_options options = {}, std::string chroot = {},
                            fake_network* network = nullptr, std::optional<detail::session_file> records = {})
      : time_{ensemble.time()},
        process_{time_.attach({[this] { return next_; }, [this] { next_ = monitor_->run_due(); }})},
        monitor_{
            std::make_shared<detail::monitor>([&ensemble, process = process_] { return clock(ensemble, process); })} {
    // Asked for at every step: it would be a pity to take the monitor each time.
    monitor_->when_earlier([this](time_point first) { next_ = next_ ? std::min(*next_, first) : first; });
    auto opener = std::make_unique<fake_connector>(ensemble, options.session_timeout, process_);
    connector_ = opener.get();
    const detail::connect_string servers{{"fake:2181"}, std::move(chroot)};
    auto port =
        network == nullptr ? nullptr : network->open(process_, [own = monitor_](const auto& what) { own->run(what); });
    core_ = std::make_shared<detail::client_core>(std::move(options), servers, monitor_, std::move(opener),
                                                  std::move(port), std::move(records));
    core_->monitor().run([this] { core_->open(); });
  }

  ~simulated_client() {
    time_.detach(process_);
    monitor_->when_earlier({});
    core_->stop_threads();
  }
  simulated_client(const simulated_client&) = delete;
  simulated_client& operator=(const simulated_client&) = delete;

  const std::shared_ptr<detail::client_core>& core() const noexcept { return core_; }
  fake_connector& connector() noexcept { return *connector_; }
  process_id process() const noexcept { return process_; }

  template <class Callable>
  auto run(Callable&& what) {
    return monitor_->run(std::forward<Callable>(what));
  }

  std::shared_ptr<detail::cohort> cohort(std::string path, detail::cohort_options options = {},
                                         detail::contender_kind kind = detail::contender_kind::lock) {
    return std::make_shared<detail::cohort>(core_, std::move(path), kind, std::move(options));
  }

  std::shared_ptr<detail::robust_line> robust_line(std::string path, detail::cohort_options options = {},
                                                   std::chrono::milliseconds lock_delay = {}) {
    return std::make_shared<detail::robust_line>(core_, std::move(path), std::move(options), lock_delay);
  }

  std::shared_ptr<detail::shared_state> shared_state(std::string path, detail::cohort_options writers = {},
                                                     detail::readers_options readers = {}) {
    return std::make_shared<detail::shared_state>(core_, std::move(path), writers, readers);
  }

  std::shared_ptr<detail::fair_places> fair_places(std::string path, duration max_hold = {},
                                                   hand_off how = hand_off::ensemble) {
    return std::make_shared<detail::fair_places>(core_, std::move(path), std::string{}, max_hold, how);
  }

  std::shared_ptr<detail::joint_lock> joint_lock(std::vector<detail::group_member> members, detail::group_goal goal,
                                                 duration max_hold = {}) {
    return std::make_shared<detail::joint_lock>(core_, std::move(members), goal, 64, std::string{}, max_hold);
  }

  std::shared_ptr<detail::key_table> key_table(std::string root, detail::cohort_options options = {}) {
    auto made = std::make_shared<detail::key_table>(core_, detail::key_space{std::move(root), 0}, std::move(options));
    made->open();
    return made;
  }

  std::shared_ptr<detail::permit_line> permit_line(std::string path, std::uint32_t permits,
                                                   detail::cohort_options options = {}, bool contract = true) {
    auto made = std::make_shared<detail::permit_line>(core_, std::move(path), permits, std::move(options), contract);
    made->open();
    return made;
  }

  /// Begins to close; `closed()` when that is done.
  void close() {
    run([this] { core_->close([this] { closed_ = true; }); });
  }
  bool closed() const noexcept { return closed_; }

  /// Its process is killed.
  void die() {
    connector_->abandon();
    run([this] { core_->abandon(); });
    close();
  }

  bool connect() {
    return time_.run_until([this] { return connected(); }, time_.now() + std::chrono::minutes{1});
  }
  bool connected() {
    return run([this] { return core_->session().connected(); });
  }
  duration session_timeout() {
    return run([this] { return core_->session().info().timeout; });
  }

  /// @returns what it still has to do, or has left behind on its side; empty when all is done.
  std::string unfinished() {
    return run([this]() -> std::string {
      if (!core_->reaper().idle()) return "work of the reaper";
      if (core_->lease_keeper().holders() != 0) return "holders of the lease keeper";
      if (!core_->own_nodes().empty()) return "own nodes";
      for (const auto& path : core_->session().watched_paths()) {
        const bool of_line = !detail::parse_contender(detail::last_component(path));  // its parent's, for later
        if (!of_line) return "a watch on " + path;
      }
      if (!core_->session().idle()) return "requests in flight";
      return {};
    });
  }

 private:
  /// Now and then the process is stopped while it does, so two reads of one call may lie apart.
  static time_point clock(fake_ensemble& ensemble, process_id process) {
    auto& time = ensemble.time();
    auto& random = time.random();
    if (const auto& plan = ensemble.plan(); random.chance(plan.stopped_at_clock)) {
      const auto longest = random.below(500) == 0 ? plan.longest_pause : detail::reaper::patience * 4;
      time.pause(process, time.resumes_at(process) + random.between({}, longest));
    }
    return time.resumes_at(process);
  }

  simulation& time_;
  std::optional<time_point> next_;
  process_id process_;
  std::shared_ptr<detail::monitor> monitor_;
  fake_connector* connector_ = nullptr;
  std::shared_ptr<detail::client_core> core_;
  bool closed_ = false;
};

}  // namespace latchkey::testing
