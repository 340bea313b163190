// SPDX-License-Identifier: Apache-2.0
#include "simulation/fake_leader.hpp"

#include <algorithm>
#include <array>
#include <cstdio>

namespace latchkey::testing {
namespace {

using detail::operation;
using detail::reply_code;

std::string_view parent_of(std::string_view path) {
  const auto slash = path.rfind('/');
  return slash == 0 || slash == path.npos ? std::string_view{"/"} : path.substr(0, slash);
}

std::string sequence(std::int32_t counter) {
  std::array<char, 16> text{};
  std::snprintf(text.data(), text.size(), "%010d", counter);
  return text.data();
}

}  // namespace

write_result fake_leader::process(ensemble_session& from, const detail::request& what) {
  if (from.over)
    return {.code = reply_code::session_over, .path = 0, .stat = {}, .results = {}, .position = log_.size()};
  switch (what.kind) {
    case operation::create:
      return create_requested(from, what);
    case operation::remove:
      if (forbidden(operation::remove, parent_of(what.path))) return refuse(from.id, reply_code::no_permission);
      return remove(from.id, what.path);
    case operation::set:
      if (forbidden(operation::set, what.path)) return refuse(from.id, reply_code::no_permission);
      return change(from.id, what.path, what.data);
    case operation::check:
      return check(from, what.paths);
    case operation::remove_all:
      return remove_all(from, what.paths);
    case operation::replace:
    case operation::requeue:
      return replace(from, what);
    case operation::sync:  // is no transaction: it only waits for the ones before it
      return {.code = reply_code::ok, .path = 0, .stat = {}, .results = {}, .position = log_.size()};
    case operation::children:
    case operation::get:
    case operation::get_acl:
      break;
  }
  return refuse(from.id, reply_code::invalid);
}

write_result fake_leader::create_requested(ensemble_session& from, const detail::request& what) {
  if (forbidden(operation::create, parent_of(what.path))) return refuse(from.id, reply_code::no_permission);
  const bool sequential = what.mode == detail::create_mode::ephemeral_sequential;
  return create(from.id, sequential ? numbered(what.path) : what.path, what.data,
                what.mode == detail::create_mode::container, sequential ? from.id : 0);
}

std::string fake_leader::numbered(const std::string& prefix) const {
  const auto* parent = find(parent_of(prefix));
  return prefix + sequence(parent ? parent->counter : 0);
}

write_result fake_leader::create(std::int64_t session, std::string path, std::string data, bool container,
                                 std::int64_t owner) {
  if (const auto code = may_create(path); code != reply_code::ok) return refuse(session, code);
  auto created = creation(session, path, std::move(data), owner);
  created.container = container;
  return append(std::move(created));
}

reply_code fake_leader::may_create(std::string_view path) const {
  if (!path_table::valid(path)) return reply_code::invalid;
  const auto* parent = find(parent_of(path));
  if (!parent) return reply_code::no_node;
  if (find(path)) return reply_code::node_exists;
  return parent->owner != 0 ? reply_code::no_children_for_ephemerals : reply_code::ok;
}

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

write_result fake_leader::remove(std::int64_t session, std::string_view path) {
  if (const auto code = may_remove(path); code != reply_code::ok) return refuse(session, code);
  return append(removal(session, path));
}

reply_code fake_leader::may_remove(std::string_view path) const {
  const auto* node = find(path);
  if (!node) return reply_code::no_node;
  if (path == "/") return reply_code::invalid;
  return node->children.empty() ? reply_code::ok : reply_code::not_empty;
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

write_result fake_leader::change(std::int64_t session, std::string_view path, std::string data) {
  const auto* node = find(path);
  if (!node) return refuse(session, path_table::valid(path) ? reply_code::no_node : reply_code::invalid);
  commit changed;
  changed.kind = commit_kind::changed;
  changed.path = *paths_.find(path);
  changed.session = session;
  changed.data = std::move(data);
  return append(std::move(changed));
}

/// One transaction, of two entries of the log: first the creation, then the removal, as in the multi of the C client.
write_result fake_leader::replace(ensemble_session& from, const detail::request& what) {
  if (what.paths.size() != 1) return refuse(from.id, reply_code::invalid);
  const auto& old = what.paths.front();
  const auto path = what.kind == operation::requeue ? numbered(what.path) : what.path;
  auto code = forbidden(operation::create, parent_of(path)) ? reply_code::no_permission : may_create(path);
  std::vector results{code, reply_code::not_sent};
  if (code == reply_code::ok) {
    code = forbidden(operation::remove, parent_of(old)) ? reply_code::no_permission : may_remove(old);
    if (code == reply_code::ok && old == parent_of(path)) code = reply_code::not_empty;
    results.back() = code;
  }
  write_result result;
  if (code == reply_code::ok) {
    auto created = creation(from.id, path, what.data, from.id);
    created.continues = true;
    const auto made = append(std::move(created)).path;
    result = append(removal(from.id, old));
    result.path = made;
  } else {
    result = refuse(from.id, code);
  }
  result.results = std::move(results);
  return result;
}

/// One transaction, of an entry of the log for each.
write_result fake_leader::remove_all(ensemble_session& from, const std::vector<std::string>& paths) {
  auto outcome = paths.empty() ? reply_code::invalid : reply_code::ok;
  std::vector<reply_code> results(paths.size(), reply_code::not_sent);
  for (std::size_t i = 0; i < paths.size() && outcome == reply_code::ok; ++i) {
    const bool twice = std::find(paths.begin(), paths.begin() + static_cast<std::ptrdiff_t>(i), paths[i]) !=
                       paths.begin() + static_cast<std::ptrdiff_t>(i);
    outcome = forbidden(operation::remove, parent_of(paths[i])) ? reply_code::no_permission
              : twice                                           ? reply_code::no_node
                                                                : may_remove(paths[i]);
    results[i] = outcome;
  }
  write_result result;
  if (outcome == reply_code::ok) {
    for (const auto& path : paths) {
      auto removed = removal(from.id, path);
      removed.continues = &path != &paths.back();
      result = append(std::move(removed));
    }
  } else {
    result = refuse(from.id, outcome);
  }
  result.results = std::move(results);
  return result;
}

write_result fake_leader::check(ensemble_session& from, const std::vector<std::string>& paths) {
  std::vector<reply_code> results;
  auto outcome = paths.empty() ? reply_code::invalid : reply_code::ok;
  for (const auto& path : paths) {
    if (outcome != reply_code::ok) {
      results.push_back(reply_code::not_sent);  // behind the one that failed
    } else {
      if (forbidden(operation::check, path)) {
        outcome = reply_code::no_permission;
      } else if (!find(path)) {
        outcome = reply_code::no_node;
      }
      results.push_back(outcome);
    }
  }
  commit checked;
  checked.kind = outcome == reply_code::ok ? commit_kind::checked : commit_kind::failed;
  checked.session = from.id;
  auto result = append(std::move(checked));
  result.code = outcome;
  result.results = std::move(results);
  return result;
}

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
  log_.push_back(std::move(what));
  committed_();
  return result;
}

const fake_node* fake_leader::find(std::string_view path) const {
  const auto number = paths_.find(path);
  return number ? tree_.find(*number) : nullptr;
}

bool fake_leader::forbidden(operation kind, std::string_view path) const noexcept {
  return std::any_of(forbidden_.begin(), forbidden_.end(),
                     [&](const auto& each) { return each.first == kind && each.second == path; });
}

}  // namespace latchkey::testing
