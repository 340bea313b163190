// SPDX-License-Identifier: Apache-2.0
/// What becomes of the permits of a line, of its turn, and of the session.

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "base/escape.hpp"
#include "base/path.hpp"
#include "queue/inquiry.hpp"
#include "recipes/semaphore/permit_line.hpp"

namespace latchkey::detail {

// At the ensemble ----------

/// For the first who waits, and not more permits than there are, with those that callers of this object have lost but
/// not given back. @returns false if there are not as many as that call asks for: it has failed.
bool permit_line::queue_up() {
  const auto first = line_.front();
  const auto most = queue_->contract().number();
  const auto count = first_wish().count;
  if (count > most) {
    first->why = std::make_unique<failure>(
        failure{errc::bad_option,
                fmt::format("{} permits were asked for, of {} that there are; ask for fewer, or resize() the semaphore",
                            count, most),
                path_});
    line_.conclude(first, waiter::outcome::failed);
    return false;
  }
  if (!has_too_many()) {
    queue_->take(count, first->once);
  } else {
    queue_->give_up();
    if (first->once) refuse_tries();
  }
  return true;
}

/// @returns whether the first who waits has to wait for a caller of this object.
bool permit_line::has_too_many() const noexcept { return in_use_ + first_wish().count > queue_->contract().number(); }

void permit_line::on_collected(const std::shared_ptr<permit>& what, bool waited) {
  const auto now = core_->monitor().now();
  if (line_.empty() || what->count() < first_wish().count) {
    what->leave();
    return advance(now);
  }
  what->trim(first_wish().count);
  what->belong_to(*this);
  what->shrinks = shrinks_;
  let_in(what, waited ? granted_by::queue : granted_by::free_queue, now);
  advance(now);
}

void permit_line::on_turn_refused() {
  line_.refuse_tries();
  if (!line_.empty()) advance(core_->monitor().now());  // those who came meanwhile are in no hurry
}

void permit_line::on_turn_lost() {
  if (!line_.empty()) advance(core_->monitor().now());
}

/// What was counted for a larger number is not passed on: others may have been counted for it, too.
void permit_line::on_permits_changed() {
  const auto now_there_are = queue_->contract().number();
  if (now_there_are < std::exchange(permits_, now_there_are)) {
    ++shrinks_;
    drop_idle();
  }
  if (!line_.empty()) advance(core_->monitor().now());
}

// Permits ----------

/// One that was given back, and has been proved.
void permit_line::on_ready(permit& which) {
  if (!which.held) advance(core_->monitor().now());
}

void permit_line::on_over(permit& which, loss_reason why) {
  if (which.held) return which.held->grant->lose(why);
  std::erase_if(idle_, [&](const auto& each) { return each.get() == &which; });
  if (!line_.empty()) advance(core_->monitor().now());
}

// The session ----------

void permit_line::on_connected() {
  queue_->on_connected();
  if (!line_.empty()) advance(core_->monitor().now());
}

void permit_line::on_disconnected() {
  if (!line_.empty()) refuse_tries();
}

/// Permits that no caller holds have no proofs: what becomes of their session is told here.
void permit_line::on_session_over() {
  locks_->stop();
  remote_ = remote::unknown;
  queue_->on_session_over();
  drop_idle();
  if (!line_.empty()) advance(core_->monitor().now());
}

void permit_line::on_failure(const failure& why) {
  queue_->give_up();
  drop_idle();
  line_.fail_all({why.code, why.what, path_});
}

// Resize ----------

/// @param data of the path. @throws error contract_mismatch
void permit_line::require_own_record(const std::string& data) const {
  if (data.empty() || permits_agreement.read(data)) return;
  throw error{errc::contract_mismatch,
              fmt::format("its node says {}, and {}", escaped(data.substr(0, 64)), permits_agreement.of_others), path_};
}

void permit_line::resize(std::uint32_t permits, duration timeout) {
  if (!queue_->contract().recorded())
    throw error{errc::bad_option, "resize() needs the option contract, as it changes the record at the path", path_};
  auto& monitor = core_->monitor();
  monitor.run([&] { require_working(*core_, path_); });
  const auto until = deadline_after(monitor.now(), timeout);
  const auto absolute = core_->absolute(path_);
  require_own_record(
      inquire(*core_, path_, {barrier(absolute), {.kind = operation::get, .path = absolute}}, timeout).back().data);
  const auto written =
      inquire(*core_, path_, {{.kind = operation::set, .path = absolute, .data = permits_agreement.record(permits)}},
              until - monitor.now(), if_missing::create);
  monitor.run([&] {
    queue_->contract().learn(permits, written.front().stat);
    queue_->contract().ask();  // sets a watch
    on_permits_changed();
  });
}

std::uint32_t permit_line::permits() const {
  return core_->monitor().run_unless_forked([this] { return queue_->contract().number(); });
}

}  // namespace latchkey::detail
