// SPDX-License-Identifier: Apache-2.0
#pragma once

/// One fiber of a worker process.

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <random>
#include <string>
#include <system_error>

#include <latchkey/client.hpp>
#include <latchkey/ticket.hpp>

#include "lock_under_test.hpp"
#include "recorder.hpp"

namespace chaos {

/// @returns whether a call that ends by itself has failed since no server answered for long.
bool ended_by_outage(const std::system_error& failure, const std::string& manner);

class contender {
 public:
  contender(std::string name, latchkey::client& client, locks_under_test& locks, recorder& pen,
            std::chrono::milliseconds session_timeout, std::uint64_t seed)
      : name_{std::move(name)},
        client_{client},
        locks_{locks},
        pen_{pen},
        session_timeout_{session_timeout},
        random_{seed} {}

  /// Takes locks in every manner, until `finish`; then each lock once more.
  void run(const std::atomic<bool>& finish);

 private:
  using taking = std::function<bool(lock_under_test&)>;

  void call_again_and_again(int lock);
  void call_in_some_manner(int lock);
  void call_and_cancel(int lock);
  void call(int lock, const std::string& manner, const taking& take);
  void call_and_wait(int lock, const std::string& manner = "lock");
  void hold(int lock);
  bool use(int lock, const latchkey::grant& grant);
  void work(int lock, const latchkey::grant& grant);
  void after_loss(int lock, const latchkey::grant& grant);

  // What only one family can: contender_of_family.cpp.
  void do_more(int lock, const latchkey::grant& grant);
  void take_once_more(int lock, const latchkey::grant& grant, int most);
  void try_to_write_too(int lock, const latchkey::grant& grant);
  void unlock_what_is_not_ours(int lock);
  latchkey::grant become_reader(int lock, const latchkey::grant& writer);

  // With a ticket: contender_in_line.cpp.
  void stand_in_line(int lock);
  bool queue(int lock, const std::function<void()>& take_place);
  bool wait_in_some_manner(int lock, latchkey::ticket& ticket);
  bool wait(int lock, latchkey::ticket& ticket, const std::string& manner, const std::function<bool()>& take);

  lock_under_test& under_test(int lock) { return *locks_[static_cast<std::size_t>(lock)]; }
  /// One look at the grant, written down. @returns whether it is held.
  bool look(int lock, const latchkey::grant& grant, event_kind kind);
  void tell(event_kind kind, int lock, const latchkey::grant& grant, std::string text = {},
            clock::time_point at = clock::now()) const;
  std::chrono::milliseconds hold_time(int lock);
  std::chrono::milliseconds up_to(std::chrono::milliseconds most);
  bool one_in(int count) { return std::uniform_int_distribution{1, count}(random_) == 1; }

  const std::string name_;
  latchkey::client& client_;
  locks_under_test& locks_;
  recorder& pen_;
  const std::chrono::milliseconds session_timeout_;
  std::mt19937_64 random_;
  const std::atomic<bool>* finish_ = nullptr;
  access how_ = access::exclusive;  // of the present call, or of what is held
};

}  // namespace chaos
