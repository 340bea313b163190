// SPDX-License-Identifier: Apache-2.0
#include "simulation/fake_leader.hpp"

#include <algorithm>
#include <functional>
#include <optional>

#include "simulation/pending_tree.hpp"

namespace latchkey::testing {
namespace {

using detail::operation;
using detail::reply_code;
using detail::step;

}  // namespace

write_result fake_leader::process(ensemble_session& from, const detail::request& what) {
  if (from.over)
    return {.code = reply_code::session_over, .path = 0, .stat = {}, .results = {}, .position = log_.size()};
  using of = step::operation;
  switch (what.kind) {
    case operation::create:
      return transact(from, {{.what = of::create, .path = what.path, .data = what.data, .mode = what.mode}});
    case operation::remove:
      return transact(from, {{.what = of::remove, .path = what.path}});
    case operation::set:
      return transact(from, {{.what = of::set, .path = what.path, .data = what.data}});
    case operation::transact:
      return transact(from, what.steps);
    case operation::sync:  // is no transaction: it only waits for the ones before it
      return {.code = reply_code::ok, .path = 0, .stat = {}, .results = {}, .position = log_.size()};
    case operation::children:
    case operation::get:
    case operation::get_acl:
      break;
  }
  return refuse(from.id, reply_code::bad_arguments);
}

/// First all of it is tried, then all of it is done: an entry of the log for each step that changes something.
write_result fake_leader::transact(ensemble_session& from, const std::vector<step>& steps) {
  auto outcome = steps.empty() ? reply_code::bad_arguments : reply_code::ok;
  std::vector results(steps.size(), reply_code::not_sent);  // of those behind the one that fails
  pending_tree pending{tree_, paths_};
  for (std::size_t i = 0; i < steps.size() && outcome == reply_code::ok; ++i) {
    outcome = refusal_of(steps[i]);
    if (outcome == reply_code::ok) outcome = pending.take(steps[i]);
    if (outcome == reply_code::ok && exceeds_quota(steps[i])) outcome = reply_code::quota_exceeded;
    results[i] = outcome;
  }
  auto result = outcome == reply_code::ok ? carry_out(from, steps) : refuse(from.id, outcome);
  result.results = std::move(results);
  return result;
}

write_result fake_leader::carry_out(ensemble_session& from, const std::vector<step>& steps) {
  const auto is_check = [](const step& each) { return each.what == step::operation::check; };
  auto left = std::count_if(steps.begin(), steps.end(), std::not_fn(is_check));
  if (left == 0) {
    commit checked;
    checked.kind = commit_kind::checked;
    checked.session = from.id;
    return append(std::move(checked));
  }
  write_result result;
  std::vector<path_id> created;
  for (const auto& each : steps) {
    if (is_check(each)) continue;
    auto next = commit_of(from, each);
    next.continues = --left != 0;
    if (each.mode == detail::create_mode::ephemeral_sequential) created.push_back(next.path);
    result = append(std::move(next));
  }
  result.created = std::move(created);
  return result;
}

commit fake_leader::commit_of(ensemble_session& from, const step& what) {
  if (what.what == step::operation::remove) return removal(from.id, what.path);
  if (what.what == step::operation::set) return changing(from.id, what.path, what.data);
  const bool sequential = what.mode == detail::create_mode::ephemeral_sequential;
  const bool ephemeral = sequential || what.mode == detail::create_mode::ephemeral;
  auto created = creation(from.id, sequential ? numbered(what.path) : what.path, what.data, ephemeral ? from.id : 0);
  created.container = what.mode == detail::create_mode::container;
  return created;
}

std::string fake_leader::numbered(const std::string& prefix) const {
  return prefix + sequence(find(parent_of(prefix))->counter);
}

reply_code fake_leader::refusal_of(const step& what) const noexcept {
  switch (what.what) {
    case step::operation::create:
      return refusal_of(operation::create, parent_of(what.path));
    case step::operation::remove:
      return refusal_of(operation::remove, parent_of(what.path));
    case step::operation::set:
      return refusal_of(operation::set, what.path);
    case step::operation::check:
      return refusal_of(request_kind::check, what.path);
  }
  return reply_code::ok;
}

// By an operator

write_result fake_leader::create(std::int64_t session, std::string path, std::string data, bool container,
                                 std::int64_t owner) {
  const step what{.what = step::operation::create, .path = path};
  if (const auto code = pending_tree{tree_, paths_}.take(what); code != reply_code::ok) return refuse(session, code);
  auto created = creation(session, path, std::move(data), owner);
  created.container = container;
  return append(std::move(created));
}

write_result fake_leader::remove(std::int64_t session, std::string_view path) {
  const step what{.what = step::operation::remove, .path = std::string{path}};
  if (const auto code = pending_tree{tree_, paths_}.take(what); code != reply_code::ok) return refuse(session, code);
  return append(removal(session, path));
}

write_result fake_leader::change(std::int64_t session, std::string_view path, std::string data) {
  const step what{.what = step::operation::set, .path = std::string{path}};
  if (const auto code = pending_tree{tree_, paths_}.take(what); code != reply_code::ok) return refuse(session, code);
  return append(changing(session, path, std::move(data)));
}

// Entries of the log

commit fake_leader::creation(std::int64_t session, std::string_view path, std::string data, std::int64_t owner) {
  commit created;
  created.kind = commit_kind::created;
  created.path = paths_.intern(path);
  created.session = session;
  created.owner = owner;
  created.data = std::move(data);
  if (owner != 0) this->session(owner).ephemerals.push_back(created.path);
  return created;
}

commit fake_leader::removal(std::int64_t session, std::string_view path) {
  commit removed;
  removed.kind = commit_kind::removed;
  removed.path = *paths_.find(path);
  removed.session = session;
  if (const auto owner = find(path)->owner; owner != 0) {
    std::erase(this->session(owner).ephemerals, removed.path);
  }
  return removed;
}

commit fake_leader::changing(std::int64_t session, std::string_view path, std::string data) {
  commit changed;
  changed.kind = commit_kind::changed;
  changed.path = *paths_.find(path);
  changed.session = session;
  changed.data = std::move(data);
  return changed;
}

// Late

void fake_leader::process_late(ensemble_session& from, detail::request what, time_point when) {
  from.late.push_back({++last_late_, std::move(what)});
  time_.at(when, [this, &from, number = last_late_] {
    if (!available()) return;
    while (!from.late.empty() && from.late.front().number <= number) {
      const auto what_is_late = std::move(from.late.front().what);
      from.late.pop_front();
      process(from, what_is_late);
    }
  });
}

void fake_leader::settle_late(ensemble_session& from) {
  while (!from.late.empty() && time_.random().coin()) {
    const auto what = std::move(from.late.front().what);
    from.late.pop_front();
    process(from, what);
  }
  from.late.clear();
}

// Others

void fake_leader::reap(bool unused) {
  for (path_id path = 1;; ++path) {
    if (path >= paths_.size()) return;
    const auto* node = tree_.find(path);
    if (!node || !node->container || !node->children.empty() || (node->counter == 0 && !unused)) continue;
    commit removed;
    removed.kind = commit_kind::removed;
    removed.path = path;
    append(std::move(removed));
  }
}

void fake_leader::elect(duration length) {
  unavailable_until_ = std::max(unavailable_until_, time_.now() + length);
  resume();
  zxid_ = ((zxid_ >> 32) + 1) << 32;
  for (const auto& session : sessions_) {
    // A new leader knows of no touches: it begins all timers anew, with the timeouts of the creations.
    session->expires = unavailable_until_ + session->timeout;
    session->late.clear();
  }
}

write_result fake_leader::refuse(std::int64_t session, reply_code code) {
  commit failed;
  failed.kind = commit_kind::failed;
  failed.session = session;
  auto result = append(std::move(failed));
  result.code = code;
  return result;
}

write_result fake_leader::append(commit what) {
  const bool same_transaction = !log_.empty() && log_.back().continues;
  what.zxid = same_transaction ? zxid_ : ++zxid_;
  what.time = time_.now();
  tree_.apply(what, log_.size(), paths_);
  write_result result{
      .code = reply_code::ok, .path = what.path, .stat = {}, .results = {}, .position = log_.size() + 1};
  if (const auto* node = tree_.find(what.path); node && what.path != 0) result.stat = to_stat(*node, plan_.epoch);
  count(what);
  if (what.session != 0) session(what.session).last_position = result.position;
  log_.push_back(std::move(what));
  committed_();
  return result;
}

const fake_node* fake_leader::find(std::string_view path) const {
  const auto number = paths_.find(path);
  return number ? tree_.find(*number) : nullptr;
}

reply_code fake_leader::refusal_of(request_kind kind, std::string_view path) const noexcept {
  const auto found = std::find_if(forbidden_.begin(), forbidden_.end(),
                                  [&](const ban& each) { return each.kind == kind && each.path == path; });
  return found == forbidden_.end() ? reply_code::ok : found->code;
}

// Quotas

void fake_leader::limit_nodes(std::string path, std::size_t most) {
  quota limit{++last_quota_, std::move(path), static_cast<std::int64_t>(most)};
  for (path_id each = 0; each < paths_.size(); ++each) {
    if (tree_.find(each) && limit.concerns(paths_.text(each))) ++limit.nodes;
  }
  quotas_.push_back(std::move(limit));
}

void fake_leader::allow_everything() {
  forbidden_.clear();
  quotas_.clear();
}

/// `ZooKeeperServer.checkQuota` looks at what the leader has applied, not at what is under way.
bool fake_leader::exceeds_quota(const step& what) const noexcept {
  if (what.what != step::operation::create) return false;
  return std::any_of(quotas_.begin(), quotas_.end(),
                     [&](const quota& each) { return each.concerns(what.path) && each.nodes >= each.most; });
}

void fake_leader::count(const commit& what) {
  for (const auto& each : quotas_) {
    std::int64_t more = 0;
    if (what.kind == commit_kind::created && each.concerns(paths_.text(what.path))) more = 1;
    if (what.kind == commit_kind::removed && each.concerns(paths_.text(what.path))) more = -1;
    for (const auto gone : what.gone) more -= each.concerns(paths_.text(gone)) ? 1 : 0;
    if (more == 0) continue;
    time_.after(plan_.consensus.most, [this, number = each.number, more] {
      for (auto& limit : quotas_) {
        if (limit.number == number) limit.nodes += more;
      }
    });
  }
}

}  // namespace latchkey::testing
