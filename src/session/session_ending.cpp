// SPDX-License-Identifier: Apache-2.0
#include "session/session_ending.hpp"

#include <algorithm>

namespace latchkey::detail {
namespace {

/// After an attempt that has found no server, or has not ended it.
constexpr duration pause = std::chrono::milliseconds{500};

/// Beyond the session timeout: for the clocks of the servers, and a new leader, which begins all timeouts anew.
constexpr int timeouts = 3;

}  // namespace

void session_ending::begin() {
  last_ = deadline_after(own_monitor().now(), std::max<duration>(whose_.timeout * timeouts, std::chrono::seconds{10}));
  try_again();
}

void session_ending::try_again() {
  if (own_monitor().now() >= last_) return conclude(outcome::given_up);
  timer_ = own_monitor().at(last_, [this] { conclude(outcome::given_up); });
  resume({whose_.id, whose_.password});
}

void session_ending::on_up() {
  ++let_in_;
  close();
}

void session_ending::on_expired() {
  is_over_ = true;
  close();
}

void session_ending::on_closed() {
  own_monitor().cancel(timer_);
  if (!told_) return;
  if (is_over_) return conclude(let_in_ != 0 ? outcome::ended : outcome::expired);
  timer_ = own_monitor().in(let_in_ == 1 ? duration::zero() : pause, [this] { try_again(); });
}

void session_ending::conclude(outcome how) {
  own_monitor().cancel(timer_);
  const auto told = std::exchange(told_, nullptr);
  close();
  if (told) told(how);
}

}  // namespace latchkey::detail
