// SPDX-License-Identifier: Apache-2.0
#pragma once

/// The one order of all writes, and the sessions of an ensemble.

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "bridge/znodes.hpp"
#include "simulation/fake_tree.hpp"
#include "simulation/fault_plan.hpp"
#include "simulation/request_kind.hpp"
#include "simulation/simulation.hpp"

namespace latchkey::testing {

/// A write of a connection that is lost, still on its way to the leader.
struct late_write {
  std::uint64_t number = 0;
  detail::request what;
};

constexpr std::size_t most_servers = 8;

/// A session, as the leader knows it.
struct ensemble_session {
  std::int64_t id = 0;
  duration timeout{};  ///< that it was created with: a new leader knows no other
  time_point expires;
  bool over = false;              ///< expired or closed
  std::size_t last_position = 0;  ///< in the log, behind its last transaction
  /// By server: the timeout of a touch that it has not passed on yet; zero: there is none.
  std::array<duration, most_servers> touched_at{};
  std::vector<path_id> ephemerals;
  std::deque<late_write> late;
};

/// What the leader made of a write. It is known to a server once that has applied the first `position` entries of the
/// log.
struct write_result {
  detail::reply_code code{};
  path_id path = 0;
  detail::node_stat stat;
  std::vector<detail::reply_code> results;
  std::vector<path_id> created{};  ///< the sequential nodes of a transaction
  std::size_t position = 0;
};

/// Takes writes one after another; each is committed at once. (What takes time is the way to the leader and back.)
class fake_leader {
 public:
  /// @param committed is called after every new entry of the log.
  fake_leader(simulation& time, path_table& paths, const fault_plan& plan, std::function<void()> committed)
      : time_{time}, paths_{paths}, plan_{plan}, committed_{std::move(committed)} {}

  // Sessions:

  ensemble_session& open_session(duration timeout);
  /// Sets the end of the session anew, with the timeout that the server which was touched has agreed to
  /// (`SessionTrackerImpl.touchSession`): a late touch from another server may bring it forward.
  void touch(ensemble_session& session, duration timeout);
  /// The session ends by then, unless it is touched again.
  void shorten(ensemble_session& session, time_point expires);
  /// All is gone, and transactions are counted from the beginning; who has seen more is turned away.
  void lose_data();
  /// Expired or closed: its ephemeral nodes go in the same transaction.
  void end_session(ensemble_session& session);
  ensemble_session& session(std::int64_t id) { return *sessions_[static_cast<std::size_t>(id - first_session)]; }
  /// @returns nothing if it has never been one.
  ensemble_session* find_session(std::int64_t id) noexcept {
    const auto index = static_cast<std::size_t>(id - first_session);
    return id >= first_session && index < sessions_.size() ? sessions_[index].get() : nullptr;
  }
  const std::vector<std::unique_ptr<ensemble_session>>& sessions() const noexcept { return sessions_; }

  // Requests:

  /// Takes a `create`, `remove`, `set`, `transact` or `sync`; all that had to come before it has come or never will.
  write_result process(ensemble_session& from, const detail::request& what);

  /// `what` will be processed at `when`, unless the session's next connection is heard of before.
  void process_late(ensemble_session& from, detail::request what, time_point when);
  /// The next connection of a session is heard of: what is still on its way on the old one comes now or never.
  void settle_late(ensemble_session& from);

  // By an operator, or another client; always possible:

  write_result create(std::int64_t session, std::string path, std::string data, bool container, std::int64_t owner);
  write_result remove(std::int64_t session, std::string_view path);
  write_result change(std::int64_t session, std::string_view path, std::string data);

  /// Deletes the containers that have had children and have none. @param unused also those that never had one.
  void reap(bool unused);

  /// Requests of this kind are refused, and transactions with such a step: of `create` and `remove` below `path`, of the
  /// others at it.
  void forbid(request_kind kind, std::string path, detail::reply_code code) {
    forbidden_.push_back({kind, std::move(path), code});
  }
  /// A quota (`zookeeper.enforceQuota`): the path and all below it are so many nodes at most. A node counts until the
  /// leader has applied its deletion, which is later than the requests behind that are checked.
  void limit_nodes(std::string path, std::size_t most);
  void lift_quotas() { quotas_.clear(); }
  void allow_everything();
  /// @returns what such a request is refused with; `ok` if it is not.
  detail::reply_code refusal_of(request_kind kind, std::string_view path) const noexcept;

  // The ensemble without a leader:

  bool available() const noexcept { return time_.now() >= unavailable_until_; }
  /// No leader for so long; the next one has a new epoch and begins the timers of all sessions anew.
  void elect(duration length);

  /// The thread that sends its pings is stopped for so long; then it sends those that are due.
  void stop_pings(duration length) { pings_stopped_until_ = std::max(pings_stopped_until_, time_.now() + length); }
  /// All of it is: it reads nothing meanwhile.
  void stall(duration length) {
    stop_pings(length);
    stalled_until_ = std::max(stalled_until_, time_.now() + length);
  }
  bool stalls() const noexcept { return time_.now() < stalled_until_; }
  void resume() noexcept { pings_stopped_until_ = stalled_until_ = {}; }
  time_point pings_stopped_until() const noexcept { return pings_stopped_until_; }

  const std::vector<commit>& log() const noexcept { return log_; }
  const fake_tree& tree() const noexcept { return tree_; }
  void set_counter(path_id path, std::int32_t counter) { tree_.set_counter(path, counter); }

 private:
  static constexpr std::int64_t first_session = 0x1000;

  std::string numbered(const std::string& prefix) const;
  write_result transact(ensemble_session& from, const std::vector<detail::step>& steps);
  write_result carry_out(ensemble_session& from, const std::vector<detail::step>& steps);
  commit commit_of(ensemble_session& from, const detail::step& what);
  detail::reply_code refusal_of(const detail::step& what) const noexcept;
  bool exceeds_quota(const detail::step& what) const noexcept;
  void count(const commit& what);
  commit creation(std::int64_t session, std::string_view path, std::string data, std::int64_t owner);
  commit removal(std::int64_t session, std::string_view path);
  commit changing(std::int64_t session, std::string_view path, std::string data);
  write_result refuse(std::int64_t session, detail::reply_code code);
  write_result append(commit what);
  const fake_node* find(std::string_view path) const;
  void await_expiry(ensemble_session& session, duration late);

  simulation& time_;
  path_table& paths_;
  const fault_plan& plan_;
  std::function<void()> committed_;
  std::vector<std::unique_ptr<ensemble_session>> sessions_;
  fake_tree tree_;
  std::vector<commit> log_;
  std::int64_t zxid_ = std::int64_t{1} << 32;
  time_point unavailable_until_{};
  time_point pings_stopped_until_{};
  time_point stalled_until_{};
  std::uint64_t last_late_ = 0;

  struct ban {
    request_kind kind;
    std::string path;
    detail::reply_code code;
  };
  struct quota {
    std::uint64_t number = 0;
    std::string path;
    std::int64_t most = 0;
    std::int64_t nodes = 0;

    bool concerns(std::string_view node) const noexcept {
      return node.starts_with(path) && (node.size() == path.size() || node[path.size()] == '/');
    }
  };
  std::vector<ban> forbidden_;
  std::vector<quota> quotas_;
  std::uint64_t last_quota_ = 0;
};

}  // namespace latchkey::testing
