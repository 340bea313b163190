// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Histories made by hand. Times are milliseconds.

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <string>
#include <utility>

#include "history.hpp"

namespace chaos {

class story {
 public:
  static clock::time_point at(std::int64_t time) { return clock::time_point{std::chrono::milliseconds{time}}; }

  story& say(std::int64_t time, std::string who, event_kind kind, int lock = 0, std::int64_t token = 0,
             std::string text = {}) {
    all_.events.push_back({at(time), std::move(who), kind, lock, how_, {token, 0}, 1, std::move(text)});
    all_.locks = std::max(all_.locks, lock + 1);
    return *this;
  }

  /// A look that says held, with a lease.
  story& look(std::int64_t time, std::string who, event_kind kind, std::int64_t token, std::int64_t lease) {
    return say(time, std::move(who), kind, 0, token, std::to_string(at(lease).time_since_epoch().count()));
  }

  /// Granted and not unlocked: looks at both ends. The lease ends with the second unless said otherwise.
  story& hold(const std::string& who, std::int64_t from, std::int64_t to, std::int64_t token, std::int64_t lease = 0) {
    say(from - 1, who, event_kind::waits, 0, 0, "lock");
    look(from, who, event_kind::granted, token, std::max(to, lease));
    return look(to, who, event_kind::held, token, std::max(to, lease));
  }

  /// Granted, and unlocked right after the last look.
  story& own(const std::string& who, std::int64_t from, std::int64_t to, std::int64_t token, std::int64_t lease = 0) {
    return hold(who, from, to, token, lease).say(to, who, event_kind::unlocks, 0, token);
  }

  /// Granted to read, and unlocked right after the last look.
  story& read(const std::string& who, std::int64_t from, std::int64_t to, std::int64_t token, std::int64_t lease = 0) {
    return reading().own(who, from, to, token, lease).writing();
  }

  /// What is said from now on is of readers.
  story& reading() { return how_ = access::shared, *this; }
  story& writing() { return how_ = access::exclusive, *this; }

  story& is(family which, int lock = 0) { return all_.families[lock] = which, *this; }

  story& harm(std::int64_t from, std::int64_t to, std::string kind, std::string victim, bool from_outside = false) {
    all_.faults.push_back({at(from), at(to), std::move(kind), std::move(victim), from_outside, -1});
    return *this;
  }

  /// A node of the lock was deleted.
  story& remove(std::int64_t from, std::int64_t to, std::string owner, int lock = 0) {
    all_.faults.push_back({at(from), at(to), "delete node", std::move(owner), true, lock});
    return *this;
  }

  /// @returns the history, in the order of time.
  history tell() const {
    auto all = all_;
    std::stable_sort(all.events.begin(), all.events.end(), [](const event& a, const event& b) { return a.at < b.at; });
    std::stable_sort(all.faults.begin(), all.faults.end(),
                     [](const fault& a, const fault& b) { return a.begin < b.begin; });
    return all;
  }

 private:
  history all_;
  access how_ = access::exclusive;
};

}  // namespace chaos
