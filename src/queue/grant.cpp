// SPDX-License-Identifier: Apache-2.0
#include <latchkey/grant.hpp>

#include <utility>

#include <fmt/chrono.h>

#include <latchkey/error.hpp>

#include "queue/grant_state.hpp"
#include "session/waiting_call.hpp"

namespace latchkey::detail {
namespace {

class end_call final : public waiting_call<bool> {
 public:
  explicit end_call(std::shared_ptr<grant_state> of) : waiting_call{of->shared_core()}, of_{std::move(of)} {}

 private:
  std::shared_ptr<wait_point> first() override {
    core().monitor().run([this] {
      me_ = of_->begin_to_wait();
      ended_ = !me_;
    });
    return me_;
  }
  std::shared_ptr<wait_point> next() override {
    ended_ = core().monitor().run([this] { return of_->end_wait(me_); });
    return nullptr;
  }
  void stop() override {
    if (me_) core().monitor().wake(me_);
  }
  bool finish() override { return ended_; }

  const std::shared_ptr<grant_state> of_;
  std::shared_ptr<wait_point> me_;
  bool ended_ = false;
};

}  // namespace

std::shared_ptr<pending<bool>> asynchronous::begin_to_wait_for_end(const grant& of, std::stop_token stop) {
  const auto& state = grant_state::of(of);
  if (!state || state->forked()) return std::make_shared<settled_call<bool>>(true);
  return begin_call<end_call>(std::move(stop), state);
}

}  // namespace latchkey::detail

namespace latchkey {
namespace {

std::stop_token stopped() {
  std::stop_source source;
  source.request_stop();
  return source.get_token();
}

/// One that was never held, or by the parent of this process.
bool is_none(const std::shared_ptr<detail::grant_state>& state) { return !state || state->forked(); }

}  // namespace

grant::operator bool() const noexcept { return state_ && state_->held(); }

fencing_token grant::fence() const noexcept { return state_ ? state_->fence() : fencing_token{}; }

boottime_clock::time_point grant::valid_until() const noexcept {
  return state_ ? state_->valid_until() : boottime_clock::time_point{};
}

std::optional<loss_reason> grant::loss() const noexcept { return state_ ? state_->loss() : std::nullopt; }

std::stop_token grant::stop_token() const noexcept {
  static const auto never_held = stopped();
  return is_none(state_) ? never_held : state_->stop_token();
}

bool grant::wait_for_end(saturating<std::chrono::nanoseconds> timeout) const {
  return !state_ || state_->wait_for_end(timeout);
}

std::stop_token grant::stop_token(saturating<std::chrono::nanoseconds> before) const {
  const std::chrono::nanoseconds time = before;
  if (time < time.zero()) {
    throw error{errc::bad_option, fmt::format("a time of {} before the end of a lease; it must not be negative", time),
                state_ ? state_->path() : std::string{}};
  }
  return is_none(state_) ? stop_token() : state_->stop_token(time);
}

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
    case loss_reason::held_too_long:
      return "held too long";
    case loss_reason::data_lost:
      return "data lost";
  }
  return "unknown";
}

std::string to_string(const grant& what) {
  if (what == grant{}) return "no grant";
  auto text = to_string(what.fence());
  if (what) return text + " held";
  const auto why = what.loss();
  if (why) return text.append(" lost: ").append(to_string(*why));
  return text + (detail::grant_state::of(what)->ended() ? " released" : " being released");
}

}  // namespace latchkey
