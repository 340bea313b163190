// SPDX-License-Identifier: Apache-2.0
#include "recipes/keyed/key_table.hpp"

#include <algorithm>
#include <set>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/path.hpp"
#include "recipes/line/line_call.hpp"
#include "recipes/robust/robust_record.hpp"
#include "recipes/rules.hpp"

namespace latchkey::detail {
namespace {

/// What is left of a path for the root: each byte of a key may be written as three.
constexpr auto most_root_bytes = most_path_bytes - 3 * key_space::most_key_bytes - 1;

/// FNV-1a, of 64 bits: the same in every process and version.
constexpr std::uint64_t hash_of(std::string_view key) noexcept {
  std::uint64_t hash = 0xcbf29ce484222325;
  for (const unsigned char byte : key) hash = (hash ^ byte) * 0x100000001b3;
  return hash;
}
static_assert(hash_of("foobar") == 0x85944171f73967e8);

}  // namespace

// Keys ----------

key_space::key_space(std::string root, std::uint32_t stripes) : root_{std::move(root)}, stripes_{stripes} {
  require_lock_path(root_);
  if (root_.size() > most_root_bytes) {
    throw error{errc::bad_path,
                fmt::format("the root of keys has {} bytes; use at most {}", root_.size(), most_root_bytes),
                root_.substr(0, 64) + "..."};
  }
}

std::string key_space::name_of(std::string_view key) const {
  if (key.empty()) throw error{errc::bad_path, "the key is empty; name one", root_};
  if (key.size() > most_key_bytes) {
    throw error{errc::bad_path, fmt::format("the key has {} bytes; use at most {}", key.size(), most_key_bytes), root_};
  }
  if (stripes_ != 0) return fmt::to_string(hash_of(key) % stripes_);
  auto name = as_component(key);
  if (name == name_of_record) {
    throw error{
        errc::bad_path,
        fmt::format("the key \"{}\" is what a robust_mutex at the root of the keys keeps there, and would take for a "
                    "death; choose another one, or use stripes",
                    name),
        root_};
  }
  if (!parse_contender(name)) return name;
  throw error{
      errc::bad_path,
      fmt::format("the key \"{}\" is named as a contender's entry, for which a lock at the root of the keys would "
                  "wait for ever; choose one that does not end with ten digits, or use stripes",
                  name),
      root_};
}

// Locks ----------

/// The callers of one key.
class key_table::key_lock final : public cohort {
 public:
  key_lock(key_table& table, std::string name)
      : cohort{table.core_, table.keys_.path_of(name), contender_kind::lock, table.options_, table.counts_},
        name_{std::move(name)},
        table_{table.weak_from_this()} {}

  const std::string& name() const noexcept { return name_; }

  bool used = false;
  time_point since{};  // it is not

 private:
  void on_idle() override {
    if (const auto table = table_.lock()) table->drop(*this);
  }

  const std::string name_;
  const std::weak_ptr<key_table> table_;
};

key_table::key_table(std::shared_ptr<client_core> core, key_space keys, cohort_options options)
    : core_{std::move(core)},
      keys_{std::move(keys)},
      options_{std::move(options)},
      counts_{core_->group(options_.group)},
      contract_{std::make_shared<contract>(core_, keys_.root(), stripes_agreement, keys_.stripes())} {
  require_lock_path(keys_.root(), core_->chroot());
}

/// A lock of keys is granted before it is known whether its users agree on where it is.
class key_table::key_call final : public line_call {
 public:
  key_call(std::shared_ptr<key_table> table, std::string name, duration timeout)
      : line_call{table->core_, timeout}, table_{std::move(table)}, name_{std::move(name)} {}
  key_call(std::shared_ptr<key_table> table, const std::shared_ptr<joint_lock>& several)
      : line_call{several, duration::max()}, table_{std::move(table)} {}

 private:
  std::shared_ptr<wait_point> first() override {
    end_ = deadline_after(core().monitor().now(), timeout());
    auto at = line_call::first();
    return at ? at : next();
  }
  std::shared_ptr<wait_point> next() override {
    auto& agreed = *table_->contract_;
    if (agreeing_ || me()->what != waiter::outcome::granted || agreed.agreed()) return nullptr;
    auto& monitor = core().monitor();
    monitor.run([&] {
      const auto left = table_->time_to_agree(timeout(), end_);
      agreeing_ = agreed.enter(end_of_call(left, monitor.now()));
    });
    return point_of(agreeing_);
  }
  void stop() override {
    if (!agreeing_) return line_call::stop();
    agreeing_->ends_by_itself = false;
    table_->contract_->conclude(agreeing_, waiter::outcome::refused);
  }
  guard finish() override {
    auto held = line_call::finish();
    if (agreeing_ && !outcome_of(*agreeing_)) held.release();
    return held;
  }
  std::shared_ptr<waiter> enter(std::uint64_t holder, time_point until) override {
    if (name_.empty()) {
      table_->contract_->ask();
      return line_call::enter(holder, until);
    }
    auto begun = table_->enter(name_, holder, until);
    enters(std::move(begun.lock));
    return begun.me;
  }

  const std::shared_ptr<key_table> table_;
  const std::string name_;  // empty: of several keys
  time_point end_{};
  std::shared_ptr<waiter> agreeing_;
};

std::shared_ptr<pending<guard>> key_table::begin_guard(std::string_view key, duration timeout, std::stop_token stop) {
  return begin_call<key_call>(std::move(stop), shared_from_this(), keys_.name_of(key), timeout);
}

std::shared_ptr<pending<guard>> key_table::begin_guard(const std::shared_ptr<joint_lock>& several,
                                                       std::stop_token stop) {
  return begin_call<key_call>(std::move(stop), shared_from_this(), several);
}

void key_table::open() {
  contract_->open([this](const failure& why) { refuse_all(why); });
}

void key_table::shut() noexcept {
  if (core_->monitor().forked()) return keep_for_ever(shared_from_this());
  contract_->shut();
  const auto [locks, groups] = core_->monitor().run([this] {
    used_ = 0;
    idle_.clear();
    return std::pair{std::exchange(locks_, {}), std::exchange(groups_, {})};
  });
  for (const auto& [name, lock] : locks) lock->shut();
  for (const auto& each : groups) {
    if (const auto several = each.lock()) several->shut();
  }
}

guard key_table::take(std::string_view key, duration timeout, std::stop_token stop) {
  auto& monitor = core_->monitor();
  const auto name = keys_.name_of(key);
  const auto end = deadline_after(monitor.now(), timeout);
  std::shared_ptr<cohort> lock;
  const bool taken = detail::call(
      monitor, timeout, stop,
      [&](auto fiber, auto until) {
        auto begun = enter(name, fiber, until);
        lock = std::move(begun.lock);
        return begun.me;
      },
      [&](const auto& who) { lock->cancel(who); });
  if (!taken) return {};
  if (contract_->agreed()) return lock->guard_of_holder();
  return if_agreed(lock->guard_of_holder(), timeout, end, std::move(stop));
}

guard key_table::take(joint_lock& several, duration timeout, std::stop_token stop) {
  auto& monitor = core_->monitor();
  const auto end = deadline_after(monitor.now(), timeout);
  const bool taken = detail::call(
      monitor, timeout, stop,
      [&](auto fiber, auto until) {
        contract_->ask();
        return several.enter(fiber, until);
      },
      [&](const auto& who) { several.cancel(who); });
  if (!taken) return {};
  if (contract_->agreed()) return several.guard_of_holder();
  return if_agreed(several.guard_of_holder(), timeout, end, std::move(stop));
}

/// A lock was granted before it is known that its users agree on where it is.
guard key_table::if_agreed(guard held, duration timeout, time_point end, std::stop_token stop) {
  if (!contract_->agree(time_to_agree(timeout, end), std::move(stop))) held.release();
  return held;
}

duration key_table::time_to_agree(duration timeout, time_point end) const {
  const bool once = timeout <= duration::zero();
  return once ? timeout : std::max(time_until(end, core_->monitor().now()), duration{1});
}

key_table::group key_table::group_of(std::span<const std::string_view> keys, group_goal goal) {
  group made;
  std::set<std::string> names;
  std::vector<group_member> members;
  for (std::size_t i = 0; i < keys.size(); ++i) {
    const auto [name, added] = names.insert(keys_.name_of(keys[i]));
    if (!added) continue;
    members.push_back({.path = keys_.path_of(*name)});
    made.keys.push_back(i);
  }
  if (members.size() > most_keys) {
    throw error{errc::bad_option, fmt::format("{} keys; take at most {} together", members.size(), most_keys),
                keys_.root()};
  }
  made.lock =
      std::make_shared<joint_lock>(core_, std::move(members), goal, most_keys, options_.group, options_.max_hold);
  core_->monitor().run([&] { remember(made.lock); });
  return made;
}

std::size_t key_table::size() const {
  return core_->monitor().run_unless_forked([this] { return used_; });
}

// With the monitor ----------

std::shared_ptr<key_table::key_lock> key_table::find(const std::string& name) {
  require_working(*core_, keys_.path_of(name));
  forget_idle();
  auto& lock = locks_[name];
  if (!lock) lock = std::make_shared<key_lock>(*this, name);
  if (!std::exchange(lock->used, true)) ++used_;
  return lock;
}

void key_table::forget_idle() {
  const auto now = core_->monitor().now();
  while (!idle_.empty() && now - idle_.front().since > reaper::patience) {
    const auto [lock, since] = std::move(idle_.front());
    idle_.pop_front();
    if (!lock->used && lock->since == since) locks_.erase(lock->name());
  }
}

key_table::call key_table::enter(const std::string& name, std::uint64_t fiber, time_point until) {
  contract_->ask();  // ahead of the call's own requests, and so is the answer
  auto lock = find(name);
  auto me = lock->enter(fiber, until);
  return {std::move(lock), std::move(me)};
}

/// It may have been told from inside one of its own calls, so it is destroyed by a later call.
void key_table::drop(key_lock& idle) {
  const auto at = locks_.find(idle.name());
  if (at == locks_.end() || at->second.get() != &idle || !idle.used) return;
  idle.used = false;
  --used_;
  idle.since = core_->monitor().now();
  idle_.push_back({at->second, idle.since});
  forget_idle();
}

void key_table::remember(const std::shared_ptr<joint_lock>& several) {
  if (groups_.size() >= enough_) {
    std::erase_if(groups_, [](const auto& each) { return each.expired(); });
    enough_ = 2 * groups_.size() + 64;
  }
  groups_.push_back(several);
}

void key_table::refuse_all(const failure& why) {
  std::vector<std::shared_ptr<session_observer>> all;
  for (const auto& [name, lock] : locks_) all.push_back(lock);
  for (const auto& each : groups_) {
    if (const auto several = each.lock()) all.push_back(several);
  }
  for (const auto& each : all) each->on_failure(why);
}

}  // namespace latchkey::detail
