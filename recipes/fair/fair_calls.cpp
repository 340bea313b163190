// SPDX-License-Identifier: Apache-2.0
/// The calls of a fair lock, and of its tickets, that wait without a thread.

#include <cstdint>
#include <memory>
#include <utility>

#include "recipes/fair/fair_places.hpp"
#include "recipes/line/line_call.hpp"

namespace latchkey::detail {
namespace {

/// It waits with the place of a ticket.
class ticket_call final : public line_call {
 public:
  ticket_call(std::shared_ptr<fair_places> line, std::shared_ptr<fair_place> place, duration timeout)
      : line_call{std::move(line), timeout}, place_{std::move(place)} {}

 private:
  std::shared_ptr<waiter> enter(std::uint64_t holder, time_point until) override {
    return place_->begin_to_wait(holder, until);
  }
  guard finish() override {
    auto held = line_call::finish();
    if (held.grant() == grant{} && timeout() == duration::max() && me() && !stopped()) place_->raise_refused();
    return held;
  }

  const std::shared_ptr<fair_place> place_;
};

/// It waits for a place.
class queue_call final : public waiting_call<ticket> {
 public:
  explicit queue_call(std::shared_ptr<fair_places> line)
      : waiting_call{line->core()},
        line_{std::move(line)},
        place_{std::make_shared<fair_place>(line_, patience::keep)} {}

 private:
  std::shared_ptr<wait_point> first() override {
    me_ = core().monitor().run([this] { return place_->begin_to_queue(new_holder()); });
    return point_of(me_);
  }
  void stop() override {
    if (!me_) return;
    me_->ends_by_itself = false;
    line_->cancel(me_);
  }
  ticket finish() override { return me_ && outcome_of(*me_) ? ticket{place_} : ticket{}; }
  void undo() noexcept override { place_->cancel(); }

  const std::shared_ptr<fair_places> line_;
  const std::shared_ptr<fair_place> place_;
  std::shared_ptr<waiter> me_;
};

}  // namespace

std::shared_ptr<pending<ticket>> fair_places::begin_to_queue(std::stop_token stop) {
  return begin_call<queue_call>(std::move(stop), self());
}

std::shared_ptr<pending<guard>> fair_place::begin_guard(duration timeout, std::stop_token stop) {
  return begin_call<ticket_call>(std::move(stop), line_, shared_from_this(), timeout);
}

}  // namespace latchkey::detail
