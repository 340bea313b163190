// SPDX-License-Identifier: Apache-2.0
#pragma once

/// The kinds of locks of the family, each as something with `lock` and `unlock`, and who takes them.

#include <chrono>
#include <cstdint>
#include <mutex>
#include <stop_token>
#include <string>
#include <utility>

#include <latchkey/any_lock.hpp>
#include <latchkey/election.hpp>
#include <latchkey/fair_mutex.hpp>
#include <latchkey/keyed_mutex.hpp>
#include <latchkey/multi_lock.hpp>
#include <latchkey/mutex.hpp>
#include <latchkey/reentrant_mutex.hpp>
#include <latchkey/shared_mutex.hpp>
#include <latchkey/ticket.hpp>

#include "bridge/wait_point.hpp"
#include "support/support.hpp"

namespace latchkey::testing {

/// Long enough to be seen, short enough to be waited for.
inline constexpr auto lingering = 100ms;

struct plain_mutex : mutex {
  static constexpr bool one_place_each = false;
  plain_mutex(client& owner, std::string path) : mutex{owner, std::move(path)} {}
};

struct lingering_mutex : mutex {
  static constexpr bool one_place_each = false;
  lingering_mutex(client& owner, std::string path) : mutex{owner, std::move(path), {.linger = lingering}} {}
};

struct reentrant : reentrant_mutex {
  static constexpr bool one_place_each = false;
  reentrant(client& owner, std::string path) : reentrant_mutex{owner, std::move(path)} {}
};

struct fair : fair_mutex {
  static constexpr bool one_place_each = true;
  using fair_mutex::fair_mutex;
};

struct candidate : election {
  static constexpr bool one_place_each = false;
  candidate(client& owner, std::string path) : election{owner, std::move(path)} {}
};

/// Two locks at once: at the path, and beside it.
struct grouped : multi_lock {
  static constexpr bool one_place_each = false;
  grouped(client& owner, std::string path) : multi_lock{owner, {{path}, {path + "-beside"}}} {}
};

/// The one lock of several, where there is only one.
struct any_of_one : any_lock {
  static constexpr bool one_place_each = false;
  any_of_one(client& owner, std::string path) : any_lock{owner, {std::move(path)}} {}
};

struct writer : shared_mutex {
  static constexpr bool one_place_each = false;
  writer(client& owner, std::string path) : shared_mutex{owner, std::move(path)} {}
};

struct lingering_writer : shared_mutex {
  static constexpr bool one_place_each = false;
  lingering_writer(client& owner, std::string path) : shared_mutex{owner, std::move(path), {.linger = lingering}} {}
};

/// A read-write lock, taken to read.
class reader {
 public:
  static constexpr bool one_place_each = false;
  reader(client& owner, std::string path, shared_mutex_options options = {}) : lock_{owner, std::move(path), options} {}

  void lock() { lock_.lock_shared(); }
  bool lock(std::stop_token stop) { return lock_.lock_shared(std::move(stop)); }
  bool try_lock() { return lock_.try_lock_shared(); }
  template <class Duration>
  bool try_lock_for(Duration timeout, std::stop_token stop = {}) {
    return lock_.try_lock_shared_for(timeout, std::move(stop));
  }
  template <class Time>
  bool try_lock_until(Time time, std::stop_token stop = {}) {
    return lock_.try_lock_shared_until(time, std::move(stop));
  }
  void unlock() noexcept { lock_.unlock_shared(); }
  grant held() const { return lock_.held_shared(); }

 private:
  shared_mutex lock_;
};

struct lingering_reader : reader {
  lingering_reader(client& owner, std::string path) : reader{owner, std::move(path), {.linger = lingering}} {}
};

/// A fair mutex of which each caller takes a ticket first.
class ticketed {
 public:
  static constexpr bool one_place_each = true;
  ticketed(client& owner, std::string path) : lock_{owner, std::move(path)} {}

  void lock() { lock_.enqueue().wait(); }
  bool lock(std::stop_token stop) { return !stop.stop_requested() && lock_.enqueue().wait(std::move(stop)); }
  /// The turn of a place that has just been taken is not known yet: `ahead()` asks.
  bool try_lock() {
    auto place = lock_.enqueue();
    return place.ahead() == 0 && place.wait_for(patience());
  }
  template <class Duration>
  bool try_lock_for(Duration timeout, std::stop_token stop = {}) {
    return lock_.enqueue().wait_for(timeout, std::move(stop));
  }
  template <class Time>
  bool try_lock_until(Time time, std::stop_token stop = {}) {
    return lock_.enqueue().wait_until(time, std::move(stop));
  }
  void unlock() noexcept { lock_.unlock(); }
  grant held() const { return lock_.held(); }

 private:
  fair_mutex lock_;
};

/// A key, whose guard belongs to the caller that has taken it.
class keyed {
 public:
  static constexpr bool one_place_each = false;
  keyed(client& owner, const std::string& path)
      : keys_{owner, path.substr(0, path.rfind('/'))}, key_{path.substr(path.rfind('/') + 1)} {}

  void lock() { keep(keys_.lock(key_)); }
  bool lock(std::stop_token stop) { return keep(keys_.lock(key_, std::move(stop))); }
  bool try_lock() { return keep(keys_.try_lock(key_)); }
  template <class Duration>
  bool try_lock_for(Duration timeout, std::stop_token stop = {}) {
    return keep(keys_.try_lock_for(key_, timeout, std::move(stop)));
  }
  template <class Time>
  bool try_lock_until(Time time, std::stop_token stop = {}) {
    return keep(keys_.try_lock_until(key_, time, std::move(stop)));
  }
  void unlock() noexcept {
    guard mine;
    const std::lock_guard lock{mutex_};
    if (owner_ == detail::current_fiber()) mine = std::move(held_);
  }
  grant held() const {
    const std::lock_guard lock{mutex_};
    return held_.grant();
  }

 private:
  /// @pre the guard before has been released, or the lock would not have been taken
  bool keep(guard taken) {
    if (taken.grant() == grant{}) return false;
    const std::lock_guard lock{mutex_};
    held_ = std::move(taken);
    owner_ = detail::current_fiber();
    return true;
  }

  keyed_mutex keys_;
  const std::string key_;
  mutable std::mutex mutex_;
  guard held_;
  std::uint64_t owner_ = 0;
};

/// A kind of lock, whom it keeps waiting, and the actors that take both.
template <class Lock, class Rival, class Actors>
struct taken_by {
  using lock = Lock;
  using rival = Rival;
  using actors = Actors;
};

/// Two clients, one with the lock that is to be had first, one with that which has to wait for it.
template <class Case>
struct two_of {
  std::string path = fresh_path();
  client first{servers().connect_string(), quick()};
  client second{servers().connect_string(), quick()};
  typename Case::rival holder{first, path};
  typename Case::lock waiter{second, path};
};

#ifdef LATCHKEY_WITHOUT_FIBERS
#define LATCHKEY_BOTH(lock, rival) taken_by<lock, rival, on_threads>
#else
#define LATCHKEY_BOTH(lock, rival) taken_by<lock, rival, on_threads>, taken_by<lock, rival, on_fibers>
#endif

#define LATCHKEY_PLAIN LATCHKEY_BOTH(plain_mutex, plain_mutex)
#define LATCHKEY_REENTRANT LATCHKEY_BOTH(reentrant, reentrant)
#define LATCHKEY_FAIR LATCHKEY_BOTH(fair, fair)
#define LATCHKEY_CANDIDATES LATCHKEY_BOTH(candidate, candidate)
#define LATCHKEY_TICKETS LATCHKEY_BOTH(ticketed, ticketed)
#define LATCHKEY_KEYS LATCHKEY_BOTH(keyed, keyed)
#define LATCHKEY_WRITERS LATCHKEY_BOTH(writer, writer)
#define LATCHKEY_GROUPS LATCHKEY_BOTH(grouped, grouped), LATCHKEY_BOTH(any_of_one, grouped)
#define LATCHKEY_LINGERING \
  LATCHKEY_BOTH(lingering_mutex, lingering_mutex), LATCHKEY_BOTH(lingering_writer, lingering_writer)
#define LATCHKEY_READERS LATCHKEY_BOTH(reader, writer)

/// For TEST_CASE_TEMPLATE: those that give their place up with the unlock, and can be called off at any time (a
/// ticket's `enqueue()` waits for the place, however long that takes) ...
#define LATCHKEY_PROMPT LATCHKEY_PLAIN, LATCHKEY_REENTRANT, LATCHKEY_FAIR, LATCHKEY_WRITERS, LATCHKEY_READERS
/// ... those of which one caller has the lock at a time ...
#define LATCHKEY_EXCLUSIVE                                                                                    \
  LATCHKEY_PLAIN, LATCHKEY_REENTRANT, LATCHKEY_FAIR, LATCHKEY_CANDIDATES, LATCHKEY_TICKETS, LATCHKEY_WRITERS, \
      LATCHKEY_KEYS, LATCHKEY_LINGERING, LATCHKEY_GROUPS
/// ... those that are not to be taken twice ...
#define LATCHKEY_NOT_REENTRANT                                                                             \
  LATCHKEY_PLAIN, LATCHKEY_FAIR, LATCHKEY_TICKETS, LATCHKEY_WRITERS, LATCHKEY_LINGERING, LATCHKEY_READERS, \
      LATCHKEY_GROUPS
/// ... and all. A reader's rival is a writer; of all others, another one of its kind.
#define LATCHKEY_FAMILY LATCHKEY_EXCLUSIVE, LATCHKEY_READERS, LATCHKEY_BOTH(lingering_reader, lingering_writer)

}  // namespace latchkey::testing
