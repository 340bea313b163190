// SPDX-License-Identifier: Apache-2.0
#include <latchkey/keyed_mutex.hpp>

#include <map>
#include <mutex>

#include "base/process.hpp"
#include "recipes/keyed/key_table.hpp"
#include "recipes/line/lock_line.hpp"

namespace latchkey {

namespace detail {

/// The keys of each ensemble, from the first that is locked there.
class key_tables {
 public:
  key_tables(client& owner, std::string root, keyed_options options)
      : keys_{std::move(root), options.stripes},
        lock_{cohort_options::checked(options.lock, keys_.root())},
        where_{std::move(options.where)} {
    if (!where_) only_ = of(owner.core());
  }
  ~key_tables() {
    for (const auto& [core, table] : tables_) table->shut();
  }
  key_tables(const key_tables&) = delete;
  key_tables& operator=(const key_tables&) = delete;

  const key_space& keys() const noexcept { return keys_; }

  /// @throws error bad_option unless one ensemble has all of them
  std::shared_ptr<key_table> of(std::span<const std::string_view> keys) {
    if (keys.empty()) throw error{errc::bad_option, "no keys; give it at least one", keys_.root()};
    const auto table = of(keys.front());
    for (const auto key : keys) {
      if (of(key) != table)
        throw error{errc::bad_option, "the keys are of different clients; take those of one together", keys_.root()};
    }
    return table;
  }
  std::shared_ptr<key_table> of(std::string_view key) { return only_ ? only_ : of(where_(key).core()); }

  std::size_t size() const {
    if (home_.left()) return 0;
    std::size_t count = 0;
    const std::lock_guard lock{mutex_};
    for (const auto& [core, table] : tables_) count += table->size();
    return count;
  }

 private:
  std::shared_ptr<key_table> of(std::shared_ptr<client_core> core) {
    if (home_.left()) core->monitor().run([] {});  // throws
    require_peers(*core, lock_.how, keys_.root());
    const std::lock_guard lock{mutex_};
    auto& table = tables_[core];
    if (!table) {
      table = std::make_shared<key_table>(core, keys_, lock_);
      table->open();
    }
    return table;
  }

  const key_space keys_;
  const cohort_options lock_;
  const std::function<client&(std::string_view)> where_;
  const home home_;
  mutable std::mutex mutex_;  // a forked child may find it locked
  std::map<std::shared_ptr<client_core>, std::shared_ptr<key_table>> tables_;
  std::shared_ptr<key_table> only_;
};

}  // namespace detail

keyed_mutex::keyed_mutex(client& owner, given_text<std::string> root, keyed_options options)
    : tables_{std::make_unique<detail::key_tables>(owner, std::move(root), std::move(options))} {}

keyed_mutex::~keyed_mutex() = default;

guard keyed_mutex::lock(given_key key) & { return take(*key, std::chrono::nanoseconds::max(), {}); }

guard keyed_mutex::take_all(std::span<const std::string_view> keys, std::stop_token stop) {
  const auto table = tables_->of(keys);
  const auto all = table->group_of(keys, detail::group_goal::all);
  return table->take(*all.lock, std::chrono::nanoseconds::max(), std::move(stop));
}

keyed_mutex::any_key keyed_mutex::take_any(std::span<const std::string_view> keys) {
  const auto table = tables_->of(keys);
  const auto any = table->group_of(keys, detail::group_goal::first);
  any_key taken{.guard = table->take(*any.lock, std::chrono::nanoseconds::zero(), {})};
  if (const auto member = any.lock->held_index()) taken.index = any.keys[*member];
  return taken;
}

guard keyed_mutex::take(std::string_view key, std::chrono::nanoseconds timeout, std::stop_token stop) {
  return tables_->of(key)->take(key, timeout, std::move(stop));
}

std::shared_ptr<detail::pending<guard>> keyed_mutex::begin_guard(std::string_view key, std::chrono::nanoseconds timeout,
                                                                 std::stop_token stop) {
  return tables_->of(key)->begin_guard(key, timeout, std::move(stop));
}

std::shared_ptr<detail::pending<guard>> keyed_mutex::begin_guard(std::span<const std::string_view> keys,
                                                                 std::stop_token stop) {
  const auto table = tables_->of(keys);
  return table->begin_guard(table->group_of(keys, detail::group_goal::all).lock, std::move(stop));
}

std::string keyed_mutex::path(given_key key) const {
  const auto& keys = tables_->keys();
  return keys.path_of(keys.name_of(*key));
}

const std::string& keyed_mutex::root() const noexcept { return tables_->keys().root(); }

std::size_t keyed_mutex::objects() const { return tables_->size(); }

}  // namespace latchkey
