// SPDX-License-Identifier: Apache-2.0
#include "queue/grant_state.hpp"

#include <algorithm>
#include <utility>

#include <fmt/chrono.h>

#include "base/log.hpp"

namespace latchkey::detail {
namespace {

/// So that times that differ each time, as what is left until a deadline, do not add warnings without bound.
duration rounded_up(duration before, duration timeout) {
  const auto step = std::max<duration>(timeout / 960, duration{1});
  return (before + step - duration{1}) / step * step;
}

}  // namespace

grant_state::grant_state(std::shared_ptr<client_core> core, std::string path, lock_counts& counts, std::string node,
                         fencing_token fence, time_point now)
    : core_{std::move(core)},
      lease_{core_->lease_keeper().current_lease()},
      path_{std::move(path)},
      counts_{counts},
      node_{std::move(node)},
      fence_{fence},
      since_{now} {}

void grant_state::begin_again(const std::string& node, fencing_token fence, time_point now) {
  const auto& present = core_->lease_keeper().current_lease();
  if (lease_ != present) lease_ = present;  // counting its owners costs as much as reading a clock
  node_ = node;
  other_nodes_.clear();
  given_out_.store(false, std::memory_order_relaxed);
  unanswered_ = 0;
  fence_ = fence;
  since_ = now;
  stop_.reset();
  warnings_.clear();
  release_.reset();
  asked_.store(false, std::memory_order_relaxed);  // who looks at it has got it through the monitor
  watched_.store(false, std::memory_order_relaxed);
  state_.store(grant_phase::held, std::memory_order_relaxed);
}

std::optional<loss_reason> grant_state::loss() const noexcept {
  const grant_phase state = state_;
  if (state == grant_phase::lost) return why_;
  if (!is_over(state) && forked()) return loss_reason::client_closed;
  // The clock is ahead of the timer that will say so.
  return is_over(state) ? std::nullopt : lease_->loss(core_->monitor().now());
}

std::stop_token grant_state::stop_token() {
  return core_->monitor().run([this] {
    if (!stop_) {
      stop_.emplace();
      // Who wants to be stopped wants it at once: a deletion of the node is watched for.
      if (!is_over(state_)) watch_nodes();
      if (state_ == grant_phase::lost) stop_->request_stop();
    }
    return stop_->get_token();
  });
}

std::stop_token grant_state::stop_token(duration before) {
  return core_->monitor().run([&] {
    auto& keeper = core_->lease_keeper();
    if (before > keeper.longest_warning()) {
      throw error{errc::bad_option,
                  fmt::format("a holder can be warned at most {} before the end of its lease; ask for less, or raise "
                              "client_options::session_timeout",
                              std::chrono::floor<std::chrono::milliseconds>(keeper.longest_warning())),
                  path_};
    }
    before = std::min(rounded_up(before, core_->session().info().timeout), keeper.longest_warning());
    const auto same = [before](const warning& each) { return each.before == before; };
    if (const auto at = std::find_if(warnings_.begin(), warnings_.end(), same); at != warnings_.end()) {
      return at->stop.get_token();
    }
    auto& mine = warnings_.emplace_back(warning{before, {}, {}});
    if (!is_over(state_)) {
      watch_nodes();
      mine.id = keeper.warn(before, [this, stop = mine.stop] { request_stop(stop); });
      if (is_over(state_)) keeper.stop_warning(mine.id);  // the lease had run out, which was found out within
    }
    if (state_ == grant_phase::lost) mine.stop.request_stop();
    return mine.stop.get_token();
  });
}

std::stop_token grant_state::release_token() {
  return core_->monitor().run_unless_forked([this] {
    if (!release_) {
      release_.emplace();
      if (!is_over(state_)) watch_nodes();
      watched_ = true;
      if (asked_) release_->request_stop();
    }
    return release_->get_token();
  });
}

void grant_state::request_stop(const std::stop_source& of) {
  core_->post([stop = of]() mutable { stop.request_stop(); }, "a stop callback of a grant");
}

void grant_state::watch_nodes() {
  const auto watch = [this](const std::string& node) {
    if (auto* const holding = core_->lease_keeper().holder_of(node)) core_->own_nodes().watch(*holding);
  };
  watch(node_);
  for (const auto& each : other_nodes_) watch(each);
}

bool grant_state::asked_to_release() {
  if (!watched_) {
    core_->monitor().run_unless_forked([this] {
      if (!watched_.exchange(true) && !is_over(state_)) watch_nodes();
    });
  }
  return asked_;
}

std::shared_ptr<wait_point> grant_state::begin_to_wait() {
  if (is_over(state_)) return nullptr;
  return waiters_.emplace_back(std::make_shared<wait_point>());
}

bool grant_state::end_wait(const std::shared_ptr<wait_point>& waiter) {
  std::erase(waiters_, waiter);
  return is_over(state_);
}

bool grant_state::wait_for_end(duration timeout) {
  if (forked()) return true;
  const auto monitor = &core_->monitor();
  timer_id timer;
  const auto waiter = monitor->run([&] {
    auto me = begin_to_wait();
    if (me) timer = monitor->at(deadline_after(monitor->now(), timeout), [monitor, me] { monitor->wake(me); });
    return me;
  });
  if (!waiter) return true;
  waiter->wait();
  return monitor->run([&] {
    monitor->cancel(timer);
    return end_wait(waiter);
  });
}

void grant_state::suspect() {
  if (!apply(grant_event::proof_overdue)) return;
  if (log_enabled(log_level::warning)) {
    log(log_level::warning, "the lease of a lock is not being renewed; the lock may be lost soon",
        {{"path", path_}, {"lease_left_ms", lease_->valid_until() - core_->monitor().now()}});
  }
  core_->tell({.what = client_event::kind::suspect, .path = path_});
}

void grant_state::ask_to_release() {
  if (is_over(state_) || asked_.exchange(true)) return;
  ++counts_.asked_to_release;
  if (release_) request_stop(*release_);
  core_->tell({.what = client_event::kind::asked_to_release, .path = path_});
}

void grant_state::lose(loss_reason why) {
  if (is_over(state_)) return;
  why = lease_->loss(core_->monitor().now()).value_or(why);  // as `loss()` may have said
  why_ = why;
  apply(why == loss_reason::deadline_passed ? grant_event::deadline_passed : grant_event::ended);
  if (stop_) request_stop(*stop_);
  for (const auto& each : warnings_) request_stop(each.stop);
  if (why != loss_reason::client_closed) say_lost(why);
  ++counts_.lost.at(static_cast<std::size_t>(why));
  end(trace_span::outcome::lost, core_->monitor().now());
}

void grant_state::say_lost(loss_reason why) {
  if (log_enabled(log_level::warning)) {
    log(log_level::warning, "a lock was lost",
        {{"path", path_}, {"reason", to_string(why)}, {"held_ms", core_->monitor().now() - since_}});
  }
  core_->tell({.what = client_event::kind::lost, .path = path_, .reason = why});
}

void grant_state::release(time_point now) {
  if (is_over(state_)) return;
  if (!lease_->alive(now)) return lose(loss_reason::deadline_passed);
  apply(grant_event::unlocked);
  end(trace_span::outcome::released, now);
}

bool grant_state::apply(grant_event event) noexcept {
  const auto before = state_.load();
  const auto now = after(before, event);
  state_.store(now, std::memory_order_release);
  return before != now;
}

void grant_state::end(trace_span::outcome how, time_point now) {
  counts_.hold.add(now - since_);
  core_->trace(trace_span::kind::hold, how, path_, since_, now, fence_);
  for (const auto& each : warnings_) core_->lease_keeper().stop_warning(each.id);
  if (waiters_.empty()) return;
  for (auto& waiter : std::exchange(waiters_, {})) core_->monitor().wake(std::move(waiter));
}

}  // namespace latchkey::detail
