// SPDX-License-Identifier: Apache-2.0
#pragma once

/// A lock for each key of a set too large to name.

#include <chrono>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <iterator>
#include <memory>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include <latchkey/client.hpp>
#include <latchkey/duration.hpp>
#include <latchkey/export.hpp>
#include <latchkey/given_text.hpp>
#include <latchkey/guard.hpp>
#include <latchkey/lockable.hpp>
#include <latchkey/mutex.hpp>
#include <latchkey/pending.hpp>

namespace latchkey {

namespace detail {
class key_tables;

/// What `Keys` consists of: strings that live as long as it does, or views of strings.
template <class Keys>
concept range_of_keys = requires(const Keys& keys) {
  { *std::begin(keys) } -> std::convertible_to<std::string_view>;
  requires std::is_reference_v<decltype(*std::begin(keys))> ||
      std::is_same_v<decltype(*std::begin(keys)), std::string_view>;
  std::end(keys);
};

/// Some keys, as a parameter: `{"a", "b"}`, or any range of strings or of views of them. Refers to the strings, so they
/// must live until the call returns.
struct key_list {
  /// Of a list in the call. Not explicit, as the next one is not.
  key_list(std::initializer_list<given_text<std::string_view>> these) { add(these); }
  /// Not `{{"a", "b"}}`: the inner list would be one key, from the one pointer to the other. A template, so that an empty
  /// list means the constructor above.
  template <class = void>
  key_list(std::initializer_list<std::initializer_list<const char*>> one_brace_too_many) = delete;
  /// Of a range.
  template <range_of_keys Keys>
  key_list(const Keys& these) {
    add(these);
  }

  std::vector<std::string_view> keys;  ///< in their order

 private:
  template <class Keys>
  void add(const Keys& these) {
    for (const auto& each : these) keys.push_back(*given_text<std::string_view>{each});
  }
};

}  // namespace detail

/// How a `keyed_mutex` finds the lock of a key.
struct keyed_options {
  /// Zero: a lock for each key, so different keys never wait for each other. Otherwise the number of locks, which the
  /// keys share by their hash: FNV-1a, the same in every process and version. All users of a root must use the same
  /// number. The first one writes it to the root, and calls with another number fail. A user does not look again: before
  /// the root is deleted, or its number changed, all users must be stopped.
  std::uint32_t stripes = 0;
  /// As for a `mutex`, for each lock. With `linger` a key keeps its place, and its memory, until that ends.
  mutex_options lock{};
  /// @returns the client of the ensemble that has the lock of a key; the same ensemble in all processes. Empty: that of
  /// the constructor. Runs on the thread of the call. The clients must live as long as the `keyed_mutex`.
  std::function<client&(std::string_view key)> where{};
};

/// Exclusive locks named by keys: for each order, account or user that is locked now and then.
///
/// A key is any sequence of 1 to 200 bytes, except, without stripes, one that ends as the name of an entry does, as
/// `lock-0000000000`: a `mutex` at the root would wait for it for ever. Its lock is that of a `mutex` and of Curator's
/// `InterProcessMutex` at `path(key)`; a lock at the root excludes no key. All calls return a `guard`. Not recursive:
/// while a fiber holds a key, it must not wait for the same key, nor for another one of the same stripe.
///
/// Memory: a key takes memory while it is held, waited for, or lingers. On the ensemble its path is a container, which
/// the leader deletes some time after the last contender has left: 10 000 a minute, unless it is configured otherwise.
/// Use stripes if more than 150 new keys a second are locked for long.
///
/// Fairness: as for a `mutex`, for each key.
///
/// Blocking: see `detail::lockable`. The first call also reads the data of the root, in the same round trip.
///
/// Concurrency: every member may be called from any thread and fiber.
///
/// Lifetime: as for a `mutex`. It must outlive its guards: the destructor releases their locks.
///
/// Loss: the grant of the guard tells. While the guard of a lost key lives, calls of this object for that key alone are
/// not admitted; `lock_all()` and `try_lock_any()` are, once the ensemble grants the key.
class LATCHKEY_EXPORT keyed_mutex {
 public:
  /// A key, as a parameter.
  using given_key = given_text<std::string_view>;

  /// Makes no request. @param root the path below which the locks are, of at most 3495 bytes
  /// @throws error bad_path, bad_option
  keyed_mutex(client& owner, given_text<std::string> root, keyed_options options = {});
  ~keyed_mutex();
  keyed_mutex(const keyed_mutex&) = delete;
  keyed_mutex& operator=(const keyed_mutex&) = delete;

  /// Waits for the lock of `key`, through outages and lost sessions. @returns the guard.
  /// @throws error bad_path for a key that is empty, too long, or named as an entry is; contract_mismatch if the root
  /// has another number of stripes; otherwise as `mutex::lock()`
  guard lock(given_key key) &;

  /// As `lock(key)`, until `stop` is requested. @returns the guard; an empty one if the lock was not taken.
  guard lock(given_key key, std::stop_token stop) & {
    return take(*key, std::chrono::nanoseconds::max(), std::move(stop));
  }

  template <class Rep, class Period>
  guard lock(given_key, std::chrono::duration<Rep, Period>) & = delete;  // write try_lock_for(key, time)

  /// Takes the lock of `key` if it is free, as `mutex::try_lock()`. @returns the guard; an empty one if the lock was not
  /// taken.
  guard try_lock(given_key key) & { return take(*key, std::chrono::nanoseconds::zero(), {}); }

  template <class Rep, class Period>
  guard try_lock(given_key, std::chrono::duration<Rep, Period>) & = delete;  // write try_lock_for(key, time)

  /// As `lock(key)`, for at most `timeout`, and until `stop` is requested. @returns the guard; an empty one if the lock
  /// was not taken.
  template <class Rep, class Period>
  guard try_lock_for(given_key key, std::chrono::duration<Rep, Period> timeout, std::stop_token stop = {}) & {
    return take(*key, detail::timeout_of(timeout), std::move(stop));
  }

  /// As `try_lock_for`, with the time that is left now.
  template <class Clock, class Duration>
  guard try_lock_until(given_key key, std::chrono::time_point<Clock, Duration> time, std::stop_token stop = {}) & {
    return take(*key, detail::timeout_of(time), std::move(stop));
  }

  /// Waits for the locks of all `keys`, which are taken together or not at all, in any order without a deadlock: see
  /// `multi_lock`. The order of the keys does not matter, and keys of one stripe count as one. A key that this fiber holds
  /// already would be waited for without end.
  /// @param keys 1 to 64 locks, all of one ensemble
  /// @returns the guard of all: one grant, lost when one of the locks is
  /// @throws error bad_option for no keys, too many, or keys of different clients; too_large as `multi_lock`; otherwise
  /// as `lock(key)`
  guard lock_all(const detail::key_list& keys) & { return take_all(keys.keys, {}); }

  /// As `lock_all(keys)`, until `stop` is requested. @returns the guard; an empty one if the locks were not taken.
  guard lock_all(const detail::key_list& keys, std::stop_token stop) & { return take_all(keys.keys, std::move(stop)); }

  /// What `try_lock_any` has taken.
  struct [[nodiscard]] any_key {
    std::size_t index = 0;  ///< of the key, among those that were given
    latchkey::guard guard;  ///< empty if no key was free, or if other callers were first at those that were

    /// @returns whether the key is held now.
    explicit operator bool() const& noexcept { return static_cast<bool>(guard); }
    explicit operator bool() const&& = delete;  // give it a name: this guard dies at once
  };

  /// Takes the lock of one of `keys` that is free, as SKIP LOCKED of a database: see `any_lock`. If all are held: one
  /// read for each key, in one round trip. Otherwise two round trips.
  /// @param keys as for `lock_all()`
  /// @returns which key was taken, and its guard
  /// @throws error as `lock_all()`
  any_key try_lock_any(const detail::key_list& keys) & { return take_any(keys.keys); }

  /// @returns the path of the lock of `key`, for a `queue_snapshot` or other clients. A byte that a path cannot have is
  /// written %XX, and so is the percent sign; with stripes the name is the number of the stripe.
  /// @throws error bad_path for a key that is empty, too long, or named as an entry is
  std::string path(given_key key) const;

  /// @returns the path below which the locks are.
  const std::string& root() const noexcept;

  /// @returns how many locks have memory now. Zero in a forked child.
  std::size_t objects() const;

 private:
  guard take(std::string_view key, std::chrono::nanoseconds timeout, std::stop_token stop);
  guard take_all(std::span<const std::string_view> keys, std::stop_token stop);
  any_key take_any(std::span<const std::string_view> keys);
  friend struct detail::asynchronous;
  std::shared_ptr<detail::pending<latchkey::guard>> begin_guard(std::string_view key, std::chrono::nanoseconds timeout,
                                                                std::stop_token stop);
  std::shared_ptr<detail::pending<latchkey::guard>> begin_guard(std::span<const std::string_view> keys,
                                                                std::stop_token stop);

  std::unique_ptr<detail::key_tables> tables_;
};

}  // namespace latchkey
