// SPDX-License-Identifier: Apache-2.0
#pragma once

/// The kinds of locks of the family, and who takes them, as values: a test case over them is compiled once.

#include <chrono>
#include <memory>
#include <stop_token>
#include <string>
#include <vector>

#include <latchkey/grant.hpp>
#include <latchkey/guard.hpp>

#include "support/support.hpp"
#include "test_cases.hpp"

namespace latchkey::testing {

/// A lock of any kind. Each call is that of the lock with the same argument types.
class any_lockable {
 public:
  using milliseconds = std::chrono::milliseconds;
  using hours = std::chrono::hours;
  using steady_time = std::chrono::steady_clock::time_point;
  using system_time = std::chrono::system_clock::time_point;

  any_lockable() = default;
  virtual ~any_lockable() = default;
  any_lockable(const any_lockable&) = delete;
  any_lockable& operator=(const any_lockable&) = delete;

  virtual void lock() = 0;
  virtual bool lock(std::stop_token stop) = 0;
  virtual bool try_lock() = 0;
  virtual bool try_lock_for(milliseconds timeout, std::stop_token stop = {}) = 0;
  virtual bool try_lock_for(hours timeout, std::stop_token stop = {}) = 0;
  virtual bool try_lock_until(steady_time time) = 0;
  virtual bool try_lock_until(system_time time) = 0;
  virtual void unlock() noexcept = 0;
  virtual grant held() const = 0;

  // Of a ticket and of a key these throw.
  virtual guard acquire() = 0;
  virtual guard acquire(std::stop_token stop) = 0;
  virtual guard try_acquire() = 0;
  virtual guard try_acquire_for(milliseconds timeout) = 0;
};

/// A kind of lock. Its rival wants the lock alone: of a reader a writer, of all others one of their kind.
struct kind_of_lock {
  using maker = std::unique_ptr<any_lockable>(client& owner, const std::string& path);

  const char* name;
  maker* make;
  maker* make_rival = make;
  bool one_place_each = false;  ///< each caller of one object has a place of its own in the line
};

namespace kinds {
extern const kind_of_lock plain;
extern const kind_of_lock reentrant;
extern const kind_of_lock robust;  ///< after a loss its record stays, see `leaves_nothing`
extern const kind_of_lock fair;
extern const kind_of_lock candidate;
extern const kind_of_lock ticketed;  ///< a fair mutex of which each caller takes a ticket first
extern const kind_of_lock keyed;     ///< a key, whose guard belongs to the caller that has taken it
extern const kind_of_lock writer;
extern const kind_of_lock reader;
extern const kind_of_lock grouped;     ///< two locks at once: at the path, and beside it
extern const kind_of_lock any_of_one;  ///< the one lock of several, where there is only one
// These linger for 100 ms: long enough to be seen, short enough to be waited for.
extern const kind_of_lock lingering_mutex;
extern const kind_of_lock lingering_writer;
extern const kind_of_lock lingering_reader;
// Coroutines wait for them.
extern const kind_of_lock awaited_mutex;
extern const kind_of_lock awaited_robust;
extern const kind_of_lock awaited_fair;
extern const kind_of_lock awaited_candidate;
extern const kind_of_lock awaited_ticket;
extern const kind_of_lock awaited_writer;
extern const kind_of_lock awaited_reader;
extern const kind_of_lock awaited_key;
extern const kind_of_lock awaited_group;
extern const kind_of_lock awaited_any;
}  // namespace kinds

using kinds_of_locks = std::vector<const kind_of_lock*>;
std::string name_of(const kind_of_lock* kind);

/// A kind of lock, and who takes it.
struct taken_by {
  const kind_of_lock* lock;
  callers who;

  auto make(client& owner, const std::string& path) const { return lock->make(owner, path); }
  auto make_rival(client& owner, const std::string& path) const { return lock->make_rival(owner, path); }
};

std::string name_of(const taken_by& kind);

/// @returns each of `locks` with callers of each kind.
std::vector<taken_by> by_all_callers(const kinds_of_locks& locks);

/// @returns each of `locks` as coroutines wait for it, which the actor that calls is blocked by.
std::vector<taken_by> by_coroutines(const kinds_of_locks& locks);

/// @returns those that give their place up with the unlock, and can be called off at any time (a ticket's `enqueue()`
/// waits for the place, however long that takes) ...
kinds_of_locks prompt_locks();
std::vector<taken_by> prompt_kinds();
/// ... those of which one caller has the lock at a time ...
std::vector<taken_by> exclusive();
/// ... those that block who calls them ...
std::vector<taken_by> blocking_family();
/// ... and all.
std::vector<taken_by> family();

/// Two clients, one with the lock that is to be had first, one with that which has to wait for it.
struct two_of {
  explicit two_of(const taken_by& kind) : holder{kind.make_rival(first, path)}, waiter{kind.make(second, path)} {}

  std::string path = fresh_path();
  client first{servers().connect_string(), quick()};
  client second{servers().connect_string(), quick()};
  const std::unique_ptr<any_lockable> holder;
  const std::unique_ptr<any_lockable> waiter;
};

}  // namespace latchkey::testing
