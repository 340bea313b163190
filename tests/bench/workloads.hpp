// SPDX-License-Identifier: Apache-2.0
#pragma once
// The workloads of latchkey.

#include <map>
#include <memory>
#include <string>
#include <vector>

#include <latchkey/client.hpp>
#include <latchkey/hand_off.hpp>
#include <latchkey/mutex.hpp>

#include "contestant.hpp"

namespace bench {

/// The clients of each route, kept for the next run; client i is connected to server i of it.
class clients {
 public:
  /// @param how of all locks of clients that pass a lock on to one another
  explicit clients(latchkey::hand_off how) : how_{how} {}

  latchkey::hand_off how() const { return how_; }
  latchkey::client& at(const route& to, std::size_t index);

  /// A mutex that lingers, from one run to the next.
  latchkey::mutex& lingering(const route& to);

 private:
  const latchkey::hand_off how_;
  std::map<std::string, std::vector<std::unique_ptr<latchkey::client>>> known_;
  std::map<std::string, std::unique_ptr<latchkey::mutex>> lingering_;
};

/// Connected to one server. @throws std::runtime_error when that takes too long
std::unique_ptr<latchkey::client> connect(const std::string& host, latchkey::hand_off how);

// One caller ----------
figures uncontended(clients& all, const route& to, double seconds);
figures robust(clients& all, const route& to, double seconds);
figures try_held(clients& all, const route& to, double seconds);
figures relock(clients& all, const route& to, double seconds);
figures locked_write(clients& all, const route& to, double seconds);

// Many callers ----------
figures eight_sessions_hold(clients& all, const route& to, double seconds);
/// Each holds the lock for 1 ms, or once in eight times for 50 ms.
figures eight_sessions_uneven(clients& all, const route& to, double seconds);
/// Half of them give up after 1 to 20 ms, and try again.
figures eight_sessions_leaving(clients& all, const route& to, double seconds);
figures sessions(clients& all, const route& to, double seconds, std::size_t count);
figures elections_8(clients& all, const route& to, double seconds);
figures one_lock_64(clients& all, const route& to, double seconds);
figures own_locks_256(clients& all, const route& to, double seconds);
figures keys_256(clients& all, const route& to, double seconds);
figures random_keys_256(clients& all, const route& to, double seconds);
figures readers_32(clients& all, const route& to, double seconds);

// Several locks at once ----------
figures three_locks(clients& all, const route& to, double seconds);
figures convoy(clients& all, const route& to, double seconds, std::size_t size);

// Turns ----------
figures turns_64(clients& all, const route& to, double seconds);
figures turns_64_outside(clients& all, const route& to, double seconds);

// Permits ----------
figures permit_free(clients& all, const route& to, double seconds);
figures permits_8(clients& all, const route& to, double seconds);
figures coroutine_turns_64(clients& all, const route& to, double seconds);
figures pool_turns_64(clients& all, const route& to, double seconds);
figures coroutines_10000(clients& all, const route& to, double seconds);
figures permit_turns(clients& all, const route& to, double seconds);

// Waiters ----------
figures hand_off(clients& all, const route& to, double seconds, std::size_t waiters);
figures idle_10000(clients& all, const route& to, double seconds);

}  // namespace bench
