// SPDX-License-Identifier: Apache-2.0
/// The calls of a semaphore that wait without a thread.

#include <algorithm>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "queue/inquiry.hpp"
#include "recipes/line/line_call.hpp"
#include "recipes/semaphore/permit_line.hpp"

namespace latchkey::detail {
namespace {

/// @returns until when a call may learn the number.
time_point end_of_question(const client_core& core, duration timeout, time_point now) {
  const auto until = end_of_call(timeout, now);
  return is_try(until) ? end_of_try(core, until) : until;
}

/// @returns what is left of `timeout` for the wait.
duration time_left(duration timeout, time_point since, time_point now) {
  if (timeout <= duration::zero() || timeout == duration::max()) return timeout;
  return std::max(timeout - (now - since), duration{1});
}

/// It learns the number of permits first, if it must, and then waits.
class permit_call final : public line_call {
 public:
  permit_call(std::shared_ptr<permit_line> permits, std::uint32_t count, duration timeout)
      : line_call{permits, timeout}, permits_{std::move(permits)}, wish_{std::make_shared<permit_line::wish>()} {
    wish_->count = count;
  }

 private:
  std::shared_ptr<wait_point> first() override {
    auto& monitor = core().monitor();
    monitor.run([&] {
      if (!permits_->must_learn(wish_->count)) return;
      since_ = monitor.now();
      asked_ = std::make_shared<inquiry>(core(), permits_->path(), std::vector{permits_->question()});
      asked_->start(end_of_question(core(), timeout(), since_));
    });
    return asked_ ? asked_->point() : line_call::first();
  }
  std::shared_ptr<wait_point> next() override {
    auto& monitor = core().monitor();
    const auto asked = monitor.run([this] { return std::exchange(asked_, nullptr); });
    if (!asked) return nullptr;
    const auto read = asked->answers();
    if (!read || stopped()) return nullptr;
    monitor.run([&] { permits_->learn(read->front()); });
    return begin(time_left(timeout(), since_, monitor.now()));
  }
  void stop() override { asked_ ? asked_->cancel() : line_call::stop(); }
  std::shared_ptr<waiter> enter(std::uint64_t holder, time_point until) override {
    return permits_->enter(holder, until, wish_);
  }

  const std::shared_ptr<permit_line> permits_;
  const std::shared_ptr<permit_line::wish> wish_;
  time_point since_{};
  std::shared_ptr<inquiry> asked_;
};

}  // namespace

std::shared_ptr<pending<guard>> permit_line::begin_guard(std::uint32_t count, duration timeout, std::stop_token stop) {
  auto self = std::static_pointer_cast<permit_line>(shared_from_this());
  return begin_call<permit_call>(std::move(stop), std::move(self), count, timeout);
}

}  // namespace latchkey::detail
