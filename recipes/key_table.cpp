// SPDX-License-Identifier: Apache-2.0
#include "recipes/key_table.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/path.hpp"

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
  validate_lock_path(root_);
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
  return stripes_ == 0 ? as_component(key) : fmt::to_string(hash_of(key) % stripes_);
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
      contract_{std::make_shared<contract>(core_, keys_.root(), "stripes", keys_.stripes())} {}

void key_table::open() {
  contract_->open([this](const failure& why) { refuse_all(why); });
}

void key_table::shut() noexcept {
  if (core_->monitor().forked()) return keep_for_ever(shared_from_this());
  contract_->shut();
  const auto locks = core_->monitor().run([this] { return std::exchange(locks_, {}); });
  for (const auto& [name, lock] : locks) lock->shut();
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
  auto held = lock->guard_of_holder();
  const bool once = timeout <= duration::zero();
  const auto left = once ? duration::zero() : std::max(time_until(end, monitor.now()), duration{1});
  return contract_->agree(left, std::move(stop)) ? std::move(held) : guard{};
}

std::size_t key_table::size() const {
  return core_->monitor().run_unless_forked([this] { return locks_.size(); });
}

// With the monitor ----------

std::shared_ptr<key_table::key_lock> key_table::find(const std::string& name) {
  require_working(*core_, keys_.path_of(name));
  auto& lock = locks_[name];
  if (!lock) {
    lock = std::make_shared<key_lock>(*this, name);
    lock->begin();
  }
  return lock;
}

key_table::call key_table::enter(const std::string& name, std::uint64_t fiber, time_point until) {
  contract_->ask();  // ahead of the call's own requests, and so is the answer
  auto lock = find(name);
  auto me = lock->enter(fiber, until);
  if (lock->idle()) drop(*lock);  // a try that is refused at once
  return {std::move(lock), std::move(me)};
}

/// It may have been told from inside one of its own calls, so it is destroyed when the next one is dropped.
void key_table::drop(key_lock& idle) {
  const auto at = locks_.find(idle.name());
  if (at == locks_.end() || at->second.get() != &idle) return;
  idle.retire();
  dropped_ = std::move(at->second);
  locks_.erase(at);
}

void key_table::refuse_all(const failure& why) {
  std::vector<std::shared_ptr<key_lock>> all;
  for (const auto& [name, lock] : locks_) all.push_back(lock);
  for (const auto& each : all) static_cast<session_observer&>(*each).on_failure(why);
}

}  // namespace latchkey::detail
