// SPDX-License-Identifier: Apache-2.0
#include "recipes/group_lock.hpp"

#include <set>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "base/path.hpp"
#include "base/process.hpp"
#include "queue/long_wait.hpp"
#include "recipes/rules.hpp"
#include "session/transaction_size.hpp"

namespace latchkey::detail {
namespace {

/// Of the name and the data of an entry, besides the label of the client.
constexpr std::size_t bytes_of_entry = 512;

std::vector<group_member> checked(const client_core& core, std::vector<group_member> members, std::size_t most) {
  std::set<std::string_view> paths;
  for (const auto& each : members) {
    require_lock_path(each.path);
    if (!paths.insert(each.path).second)
      throw error{errc::bad_option, "a path is named twice; name it once", each.path};
  }
  if (members.empty() || members.size() > most) {
    throw error{errc::bad_option, fmt::format("{} paths; give it 1 to {}", members.size(), most)};
  }
  std::size_t bytes = 0;
  const auto each_takes = bytes_of_creation(core.options()) + bytes_of_entry + core.options().label.size();
  for (const auto& each : members) bytes += core.absolute(each.path).size() + each_takes;
  if (bytes > most_transaction_bytes) {
    throw error{
        errc::too_large,
        fmt::format("to queue at {} paths is a transaction of {} bytes, more than {}; take fewer, or shorten the "
                    "paths or the ACL",
                    members.size(), bytes, most_transaction_bytes),
        members.front().path};
  }
  return members;
}

}  // namespace

group_lock::group_lock(std::shared_ptr<client_core> core, std::vector<group_member> members, group_goal goal,
                       std::size_t most, const group_options& options)
    : core_{std::move(core)},
      members_{checked(*core_, std::move(members), most)},
      goal_{goal},
      path_{members_.front().path},
      counts_{core_->group(options.group)},
      line_{*core_, path_, rule_of(members_.front().kind), counts_},
      holders_{core_, path_, counts_, options.max_hold} {
  if (options.max_hold < duration::zero())
    throw error{errc::bad_option, "the option max_hold must not be negative", path_};
  line_.ask_for_owner([this] { return abandoned(); });
  line_.when_long([this](duration waited, std::size_t calls) {
    for (const auto index : places_ ? places_->waiting() : std::vector<std::size_t>{}) {
      look_into_long_wait(*core_, members_[index].path, rule_of(members_[index].kind), waited, calls);
    }
  });
}

void group_lock::shut() noexcept {
  if (core_->monitor().forked()) return keep_for_ever(shared_from_this());
  core_->monitor().run([this] {
    shut_ = true;
    line_.fail_all(destroyed(path_));
    holders_.warn_of_guards();
    leave();
    give_up();
    rest();
    holders_.stop_limit();
  });
}

std::optional<std::size_t> group_lock::held_index() {
  return core_->monitor().run_unless_forked([this]() -> std::optional<std::size_t> {
    if (holders_.empty()) return std::nullopt;
    return index_;
  });
}

/// The guard may hold the last reference, also in a forked child, where the entries are not to be touched.
void group_lock::release_grant(std::uint64_t holder, const grant& what) noexcept {
  if (core_->monitor().forked()) return keep_for_ever(shared_from_this());
  lock_calls::release_grant(holder, what);
}

// Callers ----------

std::shared_ptr<waiter> group_lock::enter(std::uint64_t fiber, time_point until) {
  require_working(*core_, path_);
  if (shut_) throw_destroyed(path_);
  if (!is_try(until)) holders_.refuse(fiber);
  const bool hopeless = !holders_.empty() || !line_.empty() || core_->is_cut_off();
  auto me = line_.add(fiber, until, *this);
  if (observing_ == 0) observing_ = core_->add_observer(*this);
  me->entering = true;
  if (is_try(until) && hopeless) {
    line_.conclude(me, waiter::outcome::refused);
    rest();
  } else if (line_.size() == 1 && holders_.empty()) {
    take();
  }
  me->entering = false;
  return me;
}

void group_lock::cancel(const std::shared_ptr<waiter>& who) {
  if (who->what != waiter::outcome::waiting) return;
  line_.conclude(who, waiter::outcome::refused);
  if (line_.empty() && holders_.empty()) give_up();
  rest();
}

void group_lock::leave(std::uint64_t) {
  if (holders_.empty()) return;
  holders_.end(*holders_.only(), core_->monitor().now());
  give_up();
  if (!line_.empty()) take();
  rest();
}

time_point group_lock::end_overdue(time_point now) {
  return holders_.end_overdue(now, [this](const hold&) { give_up(); });
}

/// For the first that waits. @pre it has no places
void group_lock::take() {
  places_ = std::make_shared<place_group>(core_, members_, goal_, *this);
  places_->start(patience_of(line_.front()->once), observing_);
}

void group_lock::give_up() {
  if (const auto left = std::exchange(places_, nullptr)) left->leave();
}

/// An object that is not used is not told of anything, and has no timer that would outlive it.
void group_lock::rest() {
  if (!line_.empty() || !holders_.empty()) return;
  core_->remove_observer(std::exchange(observing_, 0));
  holders_.stop_limit();
}

// Of its places ----------

void group_lock::on_granted() {
  const auto now = core_->monitor().now();
  const auto& next = line_.front();
  auto nodes = places_->nodes();
  const auto node = std::move(nodes.front());
  nodes.erase(nodes.begin());
  if (goal_ == group_goal::first) {
    index_ = places_->index();
    holders_.rename(members_[index_].path);
  }
  holders_.begin(*this, next->fiber, node, places_->fence(), now).grant->rest_on(std::move(nodes));
  line_.grant(next, places_->waited() ? granted_by::queue : granted_by::free_queue, now);
}

void group_lock::on_refused() {
  places_ = nullptr;
  line_.refuse_tries();
  if (!line_.empty()) take();  // those who came meanwhile are in no hurry
  rest();
}

void group_lock::on_suspect() { holders_.only()->grant->suspect(); }

void group_lock::on_lost(loss_reason why) {
  places_ = nullptr;
  holders_.only()->grant->lose(why);
}

void group_lock::on_failed(const failure& why) {
  places_ = nullptr;
  if (!holders_.empty()) holders_.only()->grant->lose(loss_reason::access_revoked);
  line_.fail_all(why.at(path_));
  rest();
}

void group_lock::on_asked_to_release() { holders_.only()->grant->ask_to_release(); }

/// Of the client. Its grants have ended by then.
void group_lock::on_failure(const failure& why) {
  give_up();
  line_.fail_all(why.at(path_));
  rest();
}

}  // namespace latchkey::detail
