// SPDX-License-Identifier: Apache-2.0
#pragma once

/// The one loop of `latchkey run`: what it waits for.

#include <sys/eventfd.h>

#include <functional>
#include <stop_token>
#include <utility>

#include <latchkey/clock.hpp>

#include "channel.hpp"
#include "descriptor.hpp"
#include "guarded_tree.hpp"

namespace command {

using latchkey::boottime_clock;
using time_point = boottime_clock::time_point;

inline constexpr auto end_of_time = time_point::max();

/// What wakes the one loop of this process, from any thread.
class waker {
 public:
  waker() : event_{::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)} {
    if (event_.number() < 0) throw failure("eventfd");
  }
  int number() const noexcept { return event_.number(); }
  void wake() const noexcept { static_cast<void>(::eventfd_write(event_.number(), 1)); }
  void clear() const noexcept {
    eventfd_t value = 0;
    static_cast<void>(::eventfd_read(event_.number(), &value));
  }

 private:
  descriptor event_;
};

struct wake {
  const waker& what;
  void operator()() const noexcept { what.wake(); }
};

/// Requested on a token: wakes.
class watched_token {
 public:
  watched_token(std::stop_token token, const waker& whom) : token_{std::move(token)}, callback_{token_, wake{whom}} {}
  bool requested() const noexcept { return token_.stop_requested(); }

 private:
  std::stop_token token_;
  std::stop_callback<wake> callback_;
};

/// Hears signals, the guard, and other threads, one after the other.
class run_loop {
 public:
  run_loop(const guarded_tree& tree, const descriptor& signals) : tree_{tree}, signals_{signals} {}

  /// Until something happens, or `until`.
  /// @param hear told what the guard says
  void await(
      time_point until, const std::function<void(const packet&)>& hear = [](const packet&) {});

  const waker& wakes() const noexcept { return waker_; }

  /// @returns a signal that has come, and that nobody has taken; 0: none.
  int signal() const noexcept { return signal_; }
  int take_signal() noexcept { return std::exchange(signal_, 0); }

  /// @returns whether the guard has said its last word: nothing of the tree is left.
  bool empty() const noexcept { return empty_; }
  /// @returns whether the guard has gone without that, or was given up.
  bool guard_gone() const noexcept { return guard_gone_; }
  /// It is stopped, or starved.
  void give_guard_up() noexcept { guard_gone_ = true; }

 private:
  bool hears_guard() const noexcept { return !empty_ && !guard_gone_; }

  const guarded_tree& tree_;
  const descriptor& signals_;
  waker waker_;
  int signal_ = 0;
  bool empty_ = false;
  bool guard_gone_ = false;
};

}  // namespace command
