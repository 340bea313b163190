// SPDX-License-Identifier: Apache-2.0
#pragma once

/// A ZooKeeper ensemble in memory, on virtual time.

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "simulation/fake_leader.hpp"
#include "simulation/fake_server.hpp"
#include "simulation/fake_session.hpp"
#include "simulation/fault_plan.hpp"
#include "simulation/simulation.hpp"

namespace latchkey::testing {

/// Several servers, one order of writes, faults. It must outlive its connectors and everything they have opened.
class fake_ensemble {
 public:
  explicit fake_ensemble(simulation& time, fault_plan plan = {}, unsigned servers = 3);
  fake_ensemble(const fake_ensemble&) = delete;
  fake_ensemble& operator=(const fake_ensemble&) = delete;

  // Faults that a test asks for:

  /// Cuts a server off from its quorum; if it was the leader, the others elect one in `election`.
  void cut_server(unsigned server, duration length, duration election = std::chrono::milliseconds{500});
  void elect(duration length);
  /// The whole leader is stopped, as by a collection. Then it first reads what has come, and then sends its pings: had it
  /// done so before, they would not be late.
  void stall_leader(duration length);
  /// Only the thread of the leader that sends its pings is.
  void stall_pings(duration length) { leader_.stop_pings(length); }
  void lag(unsigned server, delay_range lag) { servers_[server]->set_lag(lag); }
  /// All servers end, and come back without data.
  void lose_data();
  /// The ensemble ends a session at once, whatever its touches.
  void expire(std::int64_t session);
  void refuse_credentials(bool refuse) noexcept { credentials_refused_ = refuse; }
  /// From now on each server answers the first request of a connection with that demand, and closes it.
  void demand_authentication(bool demand) noexcept { authentication_demanded_ = demand; }
  /// A server closes the connection of a client that sends more (`jute.maxbuffer`); zero: it takes everything.
  void limit_requests(std::size_t bytes) noexcept { largest_request_ = bytes; }
  void fail_next_opens(unsigned count) noexcept { opens_to_fail_ = count; }
  void forbid(request_kind kind, std::string path, detail::reply_code code = detail::reply_code::no_permission) {
    leader_.forbid(kind, std::move(path), code);
  }
  void limit_nodes(std::string path, std::size_t most) { leader_.limit_nodes(std::move(path), most); }
  void lift_quotas() { leader_.lift_quotas(); }
  void allow_everything() { leader_.allow_everything(); }
  /// No more faults: cuts and holes end, the weather stays.
  void heal();

  // An operator, or a client that is not ours:

  detail::reply_code create(std::string path, std::string data = {}, std::int64_t owner = 0);
  detail::reply_code create_container(std::string path);
  detail::reply_code remove(std::string_view path) { return leader_.remove(0, path).code; }
  detail::reply_code change(std::string_view path, std::string data) {
    return leader_.change(0, path, std::move(data)).code;
  }
  /// @returns a session without a client; it expires unless it is touched.
  std::int64_t foreign_session(duration timeout) { return leader_.open_session(timeout).id; }
  void reap(bool unused = false) { leader_.reap(unused); }
  /// The sequence number of the next child. @pre the node exists
  void set_counter(std::string_view path, std::int32_t counter);

  // What is committed, whether or not all servers have it:

  bool exists(std::string_view path) const { return find(path) != nullptr; }
  /// @returns the names, sorted.
  std::vector<std::string> children(std::string_view path) const;
  /// @returns 0 for a node that is missing or not ephemeral.
  std::int64_t owner(std::string_view path) const;
  std::int64_t czxid(std::string_view path) const;
  std::string data(std::string_view path) const;
  std::int32_t version(std::string_view path) const;
  const std::vector<commit>& log() const noexcept { return leader_.log(); }
  std::string_view path(const commit& what) const { return paths_.text(what.path); }
  /// Watches on all servers.
  std::size_t watches() const noexcept;
  /// @returns whether the session has neither expired nor been closed.
  bool alive(std::int64_t session) { return !leader_.session(session).over; }
  const std::vector<std::unique_ptr<fake_session>>& connections() const noexcept { return sessions_; }
  fake_server& server(unsigned number) noexcept { return *servers_[number]; }
  unsigned servers() const noexcept { return static_cast<unsigned>(servers_.size()); }

  /// Told of every line of the story; for looking into a failure.
  void trace_to(std::function<void(const std::string&)> listener) { listener_ = std::move(listener); }
  bool traced() const noexcept { return listener_ != nullptr; }
  void trace(const std::string& line) const { listener_(line); }

  // For its parts:

  simulation& time() noexcept { return time_; }
  /// May be changed at any time.
  fault_plan& plan() noexcept { return plan_; }
  path_table& paths() noexcept { return paths_; }
  const path_table& paths() const noexcept { return paths_; }
  fake_leader& leader() noexcept { return leader_; }
  const fake_leader& leader() const noexcept { return leader_; }
  bool credentials_refused() const noexcept { return credentials_refused_; }
  bool authentication_demanded() const noexcept { return authentication_demanded_; }
  bool takes(std::size_t bytes) const noexcept { return largest_request_ == 0 || bytes <= largest_request_; }
  bool next_open_fails();
  fake_session& add(std::shared_ptr<fake_client> client, std::uint64_t epoch, detail::connector_listener& listener);

 private:
  const fake_node* find(std::string_view path) const;

  simulation& time_;
  fault_plan plan_;
  path_table paths_;
  fake_leader leader_;
  std::vector<std::unique_ptr<fake_server>> servers_;
  std::vector<std::unique_ptr<fake_session>> sessions_;
  bool credentials_refused_ = false;
  std::size_t largest_request_ = 0;
  bool authentication_demanded_ = false;
  unsigned opens_to_fail_ = 0;
  std::function<void(const std::string&)> listener_;
};

}  // namespace latchkey::testing
