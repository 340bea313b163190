// SPDX-License-Identifier: Apache-2.0
#include "queue/ownership.hpp"

#include <algorithm>
#include <utility>

namespace latchkey::detail {

ownership::ownership(std::shared_ptr<client_core> core, std::string path, std::string node, fencing_token fence)
    : core_{std::move(core)},
      beat_{core_->prover().beat()},
      path_{std::move(path)},
      node_{std::move(node)},
      fence_{fence} {}

void ownership::begin_again(const std::string& node, fencing_token fence) {
  beat_ = core_->prover().beat();
  node_ = node;
  fence_ = fence;
  stop_.reset();
  release_.reset();
  asked_.store(false, std::memory_order_relaxed);  // who looks at it has got it through the strand
  watched_.store(false, std::memory_order_relaxed);
  state_.store(ownership_state::held, std::memory_order_relaxed);
}

std::optional<loss_reason> ownership::loss() const noexcept {
  const ownership_state state = state_;
  if (state == ownership_state::lost) return why_;
  // The clock is ahead of the timer that will say so.
  if (!is_over(state) && !beat_->alive(core_->strand().now())) return loss_reason::deadline_passed;
  return std::nullopt;
}

std::stop_token ownership::stop_token() {
  return core_->strand().run([this] {
    if (!stop_) {
      stop_.emplace();
      // Who wants to be stopped wants it at once: a deletion of the node is watched for.
      if (!is_over(state_)) watch_node();
      if (state_ == ownership_state::lost) stop_->request_stop();
    }
    return stop_->get_token();
  });
}

std::stop_token ownership::release_token() {
  return core_->strand().run([this] {
    if (!release_) {
      release_.emplace();
      if (!is_over(state_)) watch_node();
      watched_ = true;
      if (asked_) release_->request_stop();
    }
    return release_->get_token();
  });
}

void ownership::watch_node() {
  if (auto* const holding = core_->prover().holder_of(node_)) core_->own_nodes().watch(*holding);
}

bool ownership::asked_to_release() {
  if (!watched_) {
    core_->strand().run([this] {
      if (!watched_.exchange(true) && !is_over(state_)) watch_node();
    });
  }
  return asked_;
}

bool ownership::wait_for_end(duration timeout) {
  const auto waiter = std::make_shared<wait_point>();
  const auto strand = &core_->strand();
  timer_id timer;
  const bool over = strand->run([&] {
    if (is_over(state_)) return true;
    const auto deadline = deadline_after(strand->now(), timeout);
    waiters_.push_back(waiter);
    timer = strand->at(deadline, [strand, waiter] { strand->wake(waiter); });
    return false;
  });
  if (over) return true;
  waiter->wait();
  return strand->run([&] {
    strand->cancel(timer);
    std::erase(waiters_, waiter);
    return is_over(state_);
  });
}

void ownership::suspect() {
  if (apply(ownership_event::proof_overdue)) core_->tell({client_event::kind::suspect, path_, {}});
}

void ownership::ask_to_release() {
  if (is_over(state_) || asked_.exchange(true)) return;
  if (release_) core_->post([release = *release_]() mutable { release.request_stop(); });
  core_->tell({client_event::kind::asked_to_release, path_, {}});
}

void ownership::lose(loss_reason why) {
  if (is_over(state_)) return;
  why_ = why;
  apply(why == loss_reason::deadline_passed ? ownership_event::deadline_passed : ownership_event::ended);
  if (stop_) core_->post([stop = *stop_]() mutable { stop.request_stop(); });
  core_->tell({client_event::kind::lost, path_, why});
  end();
}

void ownership::release(time_point now) {
  if (is_over(state_)) return;
  if (!beat_->alive(now)) return lose(loss_reason::deadline_passed);
  apply(ownership_event::unlocked);
  end();
}

bool ownership::apply(ownership_event event) noexcept {
  const auto before = state_.load();
  const auto now = after(before, event);
  state_.store(now, std::memory_order_release);
  return before != now;
}

void ownership::end() {
  for (auto& waiter : std::exchange(waiters_, {})) core_->strand().wake(std::move(waiter));
}

}  // namespace latchkey::detail

namespace latchkey {

grant::operator bool() const noexcept { return state_ && state_->held(); }

fencing_token grant::fence() const noexcept { return state_ ? state_->fence() : fencing_token{}; }

boottime_clock::time_point grant::valid_until() const noexcept {
  return state_ ? state_->valid_until() : boottime_clock::time_point::min();
}

std::optional<loss_reason> grant::loss() const noexcept { return state_ ? state_->loss() : std::nullopt; }

std::stop_token grant::stop_token() const noexcept { return state_ ? state_->stop_token() : std::stop_token{}; }

bool grant::wait_for_end(std::chrono::nanoseconds timeout) const { return !state_ || state_->wait_for_end(timeout); }

bool grant::asked_to_release() const noexcept { return state_ && state_->asked_to_release(); }

std::stop_token grant::release_token() const noexcept { return state_ ? state_->release_token() : std::stop_token{}; }

std::string_view to_string(loss_reason reason) noexcept {
  switch (reason) {
    case loss_reason::session_expired:
      return "session expired";
    case loss_reason::deadline_passed:
      return "deadline passed";
    case loss_reason::node_deleted:
      return "node deleted";
    case loss_reason::client_closed:
      return "client closed";
    case loss_reason::access_revoked:
      return "access revoked";
  }
  return "?";
}

}  // namespace latchkey
