// SPDX-License-Identifier: Apache-2.0
/// One place in a fair line.

#include <system_error>
#include <utility>

#include "base/path.hpp"
#include "queue/inquiry.hpp"
#include "recipes/fair/fair_places.hpp"

namespace latchkey::detail {

// Calls of a ticket ----------

std::optional<std::size_t> fair_place::ahead(duration timeout, std::stop_token stop) {
  auto& core = *line_->core_;
  const auto is_first = core.monitor().run([&] {
    require_place();
    return entry_->granted();
  });
  if (is_first) return 0;
  const auto listed =
      inquire(core, line_->path_, {{.kind = operation::children, .path = *line_->absolute_}}, timeout, std::move(stop));
  if (!listed) return std::nullopt;
  return core.monitor().run([&]() -> std::size_t {
    require_place();
    const auto found = admit(listed->front().children, last_component(entry_->node()), rule_of(contender_kind::lock));
    if (found.what == admission::verdict::gone) place_lost().throw_it();
    return found.blockers;
  });
}

bool fair_place::wait(duration timeout, std::stop_token stop) {
  auto& monitor = line_->core_->monitor();
  const auto fiber = current_fiber();
  const bool stopped = stop.stop_requested();
  const auto me = monitor.run([&]() -> std::shared_ptr<waiter> {
    if (!stopped) return begin_to_wait(fiber, end_of_call(timeout, monitor.now()));
    require_place();
    return nullptr;
  });
  return me && detail::await(monitor, me, std::move(stop), [this](const auto& who) { line_->cancel(who); });
}

void fair_place::wait() {
  if (!wait(duration::max(), {})) raise_refused();
}

void fair_place::cancel() noexcept {
  if (line_->core_->monitor().forked()) return keep_for_ever(shared_from_this());
  line_->core_->monitor().run([this] {
    if (spent_.exchange(true)) return;
    give_up();
    if (caller_) conclude(waiter::outcome::refused);
  });
}

bool fair_place::lost() const {
  return line_->core_->monitor().run([this] { return !spent_ && !entry_; });
}

void fair_place::requeue() {
  auto& monitor = line_->core_->monitor();
  const auto fiber = current_fiber();
  const auto me = monitor.run([&] { return begin_to_queue_again(fiber); });
  if (!detail::await(monitor, me, {}, [](const auto&) {})) raise_refused();
}

void fair_place::raise_refused() const {
  if (!spent_) throw_destroyed(line_->path_);
  throw std::system_error{std::make_error_code(std::errc::operation_canceled),
                          "the ticket was cancelled during the call; call enqueue() for another one"};
}

std::shared_ptr<waiter> fair_place::begin_to_queue(std::uint64_t fiber, time_point until) {
  line_->require_open();
  failed_.reset();
  for_place_ = true;
  await(line_->line_.add(fiber, until, *line_));
  line_->add(shared_from_this());
  auto me = caller_;
  start();
  return me;
}

std::shared_ptr<waiter> fair_place::begin_to_queue_again(std::uint64_t fiber) {
  if (spent_) require_place();
  require_no_call();
  give_up();
  return begin_to_queue(fiber);
}

std::shared_ptr<waiter> fair_place::begin_to_wait(std::uint64_t fiber, time_point until) {
  require_place();
  require_no_call();
  line_->require_no_holder(fiber);
  await(line_->line_.add(fiber, until, *line_));
  auto me = caller_;
  if (entry_->granted() && entry_->refresh()) line_->turn_of(shared_from_this());
  if (!entry_->proving()) refuse_try();
  return me;
}

void fair_place::require_place() const {
  if (spent_) {
    throw std::system_error{std::make_error_code(std::errc::operation_not_permitted),
                            line_->path_ + ": the ticket is spent; call enqueue() for another one"};
  }
  line_->require_open();
  if (failed_) failed_->throw_it();
  if (!entry_) place_lost().throw_it();
}

/// It would be forgotten.
void fair_place::require_no_call() const {
  if (!caller_) return;
  throw std::system_error{std::make_error_code(std::errc::operation_not_permitted),
                          line_->path_ + ": another call waits with this ticket; make one call at a time"};
}

failure fair_place::place_lost() const {
  return {errc::place_lost,
          "its session ended, or its node was deleted; call requeue() for a place at the end of the line",
          line_->path_};
}

// What the line does ----------

void fair_place::await(const std::shared_ptr<waiter>& caller) {
  caller_ = caller;
  caller_->wish = shared_from_this();
}

void fair_place::start() {
  asked_to_release_ = false;
  auto& core = line_->core_;
  entry_ = std::make_shared<queue_entry>(core, line_->absolute_, rule_of(contender_kind::lock), *this,
                                         line_->neighbours_, line_->how_);
  entry_->start(how_, std::move(line_->former_));
}

void fair_place::give_up(bool closed) {
  if (const auto left = step_out()) left->leave(closed);
}

/// @pre it has been the owner's.
std::unique_ptr<kept_node> fair_place::leave_for_another(bool closed) {
  const auto left = step_out();
  return left ? left->leave_for_another(left->first_turn() + 1, closed) : nullptr;
}

/// @returns its ticket, if it has one.
std::shared_ptr<queue_entry> fair_place::step_out() {
  const auto self = shared_from_this();
  line_->remove(self);
  if (line_->next_ == self) line_->next_ = nullptr;
  return std::exchange(entry_, nullptr);
}

void fair_place::conclude(waiter::outcome what) {
  const auto who = std::exchange(caller_, nullptr);
  const auto self = std::exchange(who->wish, nullptr);
  for_place_ = false;
  line_->line_.conclude(who, what);
}

void fair_place::fail(const failure& why) {
  caller_->why = std::make_unique<failure>(why);
  conclude(waiter::outcome::failed);
}

// Told by the queue ----------

void fair_place::on_queued() {
  if (!for_place_) return;
  ++line_->counts_.places;
  conclude(waiter::outcome::granted);
}

void fair_place::on_granted() {
  line_->turn_of(shared_from_this());
  refuse_try();
}

void fair_place::on_delayed() { refuse_try(); }

/// A ticket's wait with a zero timeout ends when its turn is known not to have come.
void fair_place::refuse_try() {
  if (how_ == patience::keep && caller_ && caller_->once && !for_place_) conclude(waiter::outcome::refused);
}

/// A try that found another contender, or a place that is lost.
void fair_place::on_refused() {
  const auto self = shared_from_this();
  step_out();
  if (!caller_) return;
  if (how_ == patience::keep) return fail(place_lost());
  conclude(waiter::outcome::refused);
}

/// @returns what its caller holds.
hold* fair_place::holding() const noexcept {
  auto* const mine = line_->holders_.only();
  return mine && mine->on.get() == this ? mine : nullptr;
}

void fair_place::on_suspect() {
  if (const auto* const mine = holding()) mine->grant->suspect();
}

void fair_place::on_lost(loss_reason why) {
  if (const auto* const mine = holding()) {
    entry_ = nullptr;
    return mine->grant->lose(why);
  }
  if (how_ == patience::keep) return on_refused();
  if (line_->next_.get() == this) line_->next_ = nullptr;
  if (caller_) start();
}

void fair_place::on_failed(const failure& why) {
  const auto self = shared_from_this();
  failed_ = std::make_unique<failure>(why.at(line_->path_));
  step_out();
  if (caller_) fail(*failed_);
}

void fair_place::on_asked_to_release() {
  asked_to_release_ = true;
  if (const auto* const mine = holding()) mine->grant->ask_to_release();
}

}  // namespace latchkey::detail
