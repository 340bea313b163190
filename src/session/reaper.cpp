// SPDX-License-Identifier: Apache-2.0
#include "session/reaper.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/path.hpp"
#include "session/transaction_size.hpp"

namespace latchkey::detail {
namespace {

/// Of one transaction. As many as there can be creates under way: a client that creates nodes and gives them up as fast as
/// it can does not get ahead of their deletion.
constexpr std::size_t most_gathered = request_queue<int>::most_calls;

/// @returns whether a transaction has been answered, and has changed nothing.
constexpr bool is_refusal(reply_code code) noexcept {
  return code != reply_code::ok && code != reply_code::session_over && !is_lost(code);
}

}  // namespace

void reaper::remove_unknown(std::string parent, std::string prefix) {
  discharge(add({std::move(parent), std::move(prefix)}));
}

std::vector<std::string> reaper::remaining(const std::string& parent, const std::vector<std::string>& children) const {
  if (removed_.empty()) return children;
  std::vector<std::string> left;
  std::copy_if(children.begin(), children.end(), std::back_inserter(left),
               [&](const std::string& name) { return !removes(join(parent, name)); });
  return left;
}

bool reaper::owes_bound(const std::string& parent) const {
  const auto below = parent + '/';
  for (auto at = bound_.lower_bound(below); at != bound_.end() && at->starts_with(below); ++at) {
    if (parent_of(*at) == parent) return true;
  }
  return false;
}

void reaper::obligation::add_to(std::vector<step>& steps) const {
  steps.insert(steps.end(), along.begin(), along.end());
  steps.push_back({.what = step::operation::remove, .path = path});
}

std::uint64_t reaper::add(obligation what) {
  const auto id = ++last_;
  const auto& added = obligations_.emplace(id, std::move(what)).first->second;
  if (added.prefix.empty()) removed_.insert(added.path);
  return id;
}

// Kept for a moment ----------

void reaper::remove_soon(std::string path, duration wait, std::vector<step> along) {
  const auto id = add({.path = std::move(path), .prefix = {}, .along = std::move(along)});
  if (!session_.connected()) return;
  auto& what = obligations_.at(id);
  what.is = obligation::state::kept;
  what.until = deadline_after(monitor_.now(), wait);
  kept_.push_back(id);
  await_patience(what.until);
}

void reaper::await_patience(time_point until) {
  if (patience_ && patience_until_ <= until) return;
  monitor_.cancel(patience_);
  patience_until_ = until;
  patience_ = monitor_.at(until, [this] { stop_keeping(); });
}

void reaper::stop_keeping() {
  patience_ = {};
  const auto now = monitor_.now();
  for (const auto id : std::exchange(kept_, {})) {
    auto& what = obligations_.at(id);
    if (now < what.until) {
      kept_.push_back(id);
      await_patience(what.until);
    } else {
      what.is = obligation::state::open;
      discharge(id);
    }
  }
}

std::uint64_t reaper::hand_over(std::string_view path, std::vector<step>& steps) {
  const auto at =
      std::find_if(kept_.begin(), kept_.end(), [&](std::uint64_t id) { return obligations_.at(id).path == path; });
  if (at == kept_.end() || !session_.connected()) return 0;
  const auto id = *at;
  kept_.erase(at);
  if (kept_.empty()) monitor_.cancel(patience_);
  auto& what = obligations_.at(id);
  what.is = obligation::state::under_way;
  what.add_to(steps);
  return id;
}

// Session ----------

void reaper::on_connected() {
  for (const auto id : std::exchange(gathered_, {})) obligations_.at(id).is = obligation::state::open;
  for (const auto& [id, what] : obligations_) discharge(id);
}

void reaper::on_session_over() {
  monitor_.cancel(patience_);
  kept_.clear();
  gathered_.clear();
  removed_.clear();
  disregarded_.clear();
  bound_.clear();
  obligations_.clear();
  refused_.on_session_over();
}

void reaper::discharge(std::uint64_t id) {
  auto& what = obligations_.at(id);
  if (what.is != obligation::state::open || !session_.connected()) return;
  if (!what.prefix.empty()) return look_now(id);
  const bool now = !gathering_ && !crowded(what.hurry);
  if (what.alone || !what.along.empty() || (now && gathered_.empty())) return remove_now(id);
  what.is = obligation::state::gathered;
  gathered_.push_back(id);
  // The older ones first: those that wait for this one are not to find them. (Many transactions at once take twice as
  // long as one after another: 18 us a node instead of 8, of 1000.)
  if (now) remove_together();
}

/// @returns whether so much is under way that another one had better be gathered.
bool reaper::crowded(bool hurry) const noexcept {
  return hurry ? deletions_ >= gather_beyond_ || hurried_ > 0 : deletions_ > 0;
}

void reaper::remove_now(std::uint64_t id) {
  auto& what = obligations_.at(id);
  what.is = obligation::state::under_way;
  ++deletions_;
  request removal{.kind = operation::remove, .path = what.path};
  if (!what.along.empty()) {
    removal = {.kind = operation::transact};
    what.add_to(removal.steps);
  }
  session_.submit(std::move(removal), [this, id](const reply& removed) { on_removed(id, removed.code); });
}

void reaper::remove_gathered() {
  if (!gathered_.empty() && batches_ == 0 && session_.connected()) remove_together();
}

/// What has been gathered by `together`, and by others before: unless it goes with the next answer anyway.
void reaper::remove_gathered_now() {
  if (!gathered_.empty() && !crowded(true) && session_.connected()) remove_together();
}

void reaper::remove_together() {
  if (gathered_.size() == 1) return remove_now(std::exchange(gathered_, {}).front());
  request all{.kind = operation::transact};
  numbers ids;
  std::size_t bytes = 0;
  bool hurry = false;
  while (ids.size() < std::min(gathered_.size(), most_gathered)) {
    const auto id = gathered_[ids.size()];
    auto& what = obligations_.at(id);
    bytes += bytes_of_step + what.path.size();
    if (bytes > session_.most_bytes() && !ids.empty()) break;
    what.is = obligation::state::under_way;
    hurry = hurry || what.hurry;
    what.add_to(all.steps);
    ids.push_back(id);
  }
  gathered_.erase(gathered_.begin(), gathered_.begin() + static_cast<std::ptrdiff_t>(ids.size()));
  ++deletions_;
  ++batches_;
  if (hurry) ++hurried_;
  session_.submit(std::move(all), [this, ids = std::move(ids), hurry](const reply& removed) {
    on_all_removed(ids, hurry, removed.code);
  });
}

/// A create whose reply was lost may still be on its way to the leader: only after a sync does a list tell.
void reaper::look_now(std::uint64_t id) {
  auto& what = obligations_.at(id);
  what.is = obligation::state::under_way;
  session_.submit({.kind = operation::sync, .path = what.path}, [](const reply&) {});
  session_.submit({.kind = operation::children, .path = what.path},
                  [this, id](const reply& listed) { on_listed(id, listed); });
}

void reaper::on_removed(std::uint64_t id, reply_code code) {
  --deletions_;
  const auto at = obligations_.find(id);
  const bool had_company = at != obligations_.end() && !at->second.along.empty();
  if (had_company && is_refusal(code)) {
    at->second.along.clear();
    remove_by_itself(id);
  } else {
    conclude(id, code);
  }
  remove_gathered();
}

void reaper::on_all_removed(const numbers& ids, bool hurry, reply_code code) {
  --deletions_;
  --batches_;
  if (hurry) --hurried_;
  conclude_all(ids, code);
  remove_gathered();
}

void reaper::remove_by_itself(std::uint64_t id) {
  auto& what = obligations_.at(id);
  what.alone = true;
  what.is = obligation::state::open;
  discharge(id);
}

/// All have gone or none has: one that an operator has deleted keeps the others.
void reaper::conclude_all(const numbers& ids, reply_code code) {
  for (const auto id : ids) is_refusal(code) ? remove_by_itself(id) : conclude(id, code);
}

void reaper::on_listed(std::uint64_t id, const reply& listed) {
  auto& what = obligations_.at(id);
  if (listed.code == reply_code::ok) {
    for (const auto& name : listed.children) {
      if (!name.starts_with(what.prefix)) continue;
      what.path = join(what.path, name);
      what.prefix.clear();
      removed_.insert(what.path);
      return remove_now(id);
    }
  }
  conclude(id, listed.code);
}

/// What the answer means for one of them.
void reaper::conclude(std::uint64_t id, reply_code code) {
  const auto at = obligations_.find(id);
  if (at == obligations_.end()) return;
  auto& what = at->second;
  what.is = obligation::state::open;
  switch (code) {
    case reply_code::unknown_outcome:
      what.alone = true;
      return discharge(id);
    case reply_code::too_large:
      if (!what.prefix.empty()) break;  // so the create, which is larger than the list, has made nothing
      return;                           // with the next connection, so once in a while
    case reply_code::not_sent:
      return discharge(id);  // now, when the connection is there again; otherwise when it is back
    case reply_code::ok:
    case reply_code::no_node:
    case reply_code::session_over:
      break;
    default:
      if (!what.prefix.empty()) break;  // the list was refused: what there is to delete is not known
      const auto path = what.path;
      removed_.erase(path);
      obligations_.erase(at);
      if (refused_.add(path, code) && on_reassessed_) on_reassessed_(path);
      return;
  }
  if (what.prefix.empty()) {
    removed_.erase(what.path);
    bound_.erase(what.path);
  }
  obligations_.erase(at);
}

void reaper::disregard(const std::string& path) {
  removed_.insert(*disregarded_.insert(path).first);
  if (on_reassessed_) on_reassessed_(path);
}

}  // namespace latchkey::detail
