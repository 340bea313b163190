// SPDX-License-Identifier: Apache-2.0
#include "queue/shared_seat.hpp"

#include <system_error>
#include <utility>

namespace latchkey::detail {
namespace {

/// The outcome of a try that cannot succeed.
std::shared_ptr<caller> refused() {
  auto nobody = std::make_shared<caller>();
  nobody->what = caller::outcome::refused;
  return nobody;
}

}  // namespace

shared_seat::shared_seat(std::shared_ptr<client_core> core, std::string path, seat_options writers,
                         readers_options readers)
    : core_{std::move(core)},
      path_{std::move(path)},
      writers_{std::make_shared<seat>(core_, path_, contender_kind::write, writers)},
      readers_{std::make_shared<detail::readers>(core_, path_, readers)} {}

void shared_seat::open() {
  writers_->open();
  core_->strand().run([this] {
    readers_->open();
    writers_->gate([readers = readers_.get()] { return !readers->anybody(); });
    readers_->gate([writers = writers_.get()] { return !writers->is_owned(); });
  });
}

void shared_seat::shut() noexcept {
  writers_->shut();
  core_->strand().run([this] { readers_->shut(); });
}

// To write ----------

bool shared_seat::acquire(duration timeout, std::stop_token stop) {
  return call(
      core_->strand(), timeout, std::move(stop), [this](auto fiber, auto how) { return enter(fiber, how); },
      [this](const auto& who) { cancel(who); });
}

std::shared_ptr<caller> shared_seat::enter(std::uint64_t fiber, limit how) {
  if (readers_->is_reading(fiber)) {
    if (how.once) return refused();
    refuse_deadlock(path_, "this fiber reads, and would wait for itself: unlock_shared() first, there is no upgrade");
  }
  return writers_->enter(fiber, how);
}

void shared_seat::unlock() noexcept {
  core_->strand().run([this] { leave(); });
}

void shared_seat::leave() {
  writers_->leave();
  if (!writers_->is_owned()) readers_->gate_opened();
}

grant shared_seat::held() {
  return core_->strand().run([this] { return current(); });
}

// To read ----------

bool shared_seat::acquire_shared(duration timeout, std::stop_token stop) {
  return call(
      core_->strand(), timeout, std::move(stop), [this](auto fiber, auto how) { return enter_shared(fiber, how); },
      [this](const auto& who) { cancel_shared(who); });
}

std::shared_ptr<caller> shared_seat::enter_shared(std::uint64_t fiber, limit how) {
  if (writers_->is_owner(fiber)) {
    if (how.once) return refused();
    refuse_deadlock(path_, "this fiber writes: downgrade() makes it a reader");
  }
  return readers_->enter(fiber, how);
}

bool shared_seat::unlock_shared() noexcept {
  const auto fiber = current_fiber();
  return core_->strand().run([&] { return leave_shared(fiber); });
}

bool shared_seat::leave_shared(std::uint64_t fiber) {
  if (!readers_->leave(fiber)) return false;
  if (!readers_->anybody()) writers_->gate_opened();
  return true;
}

grant shared_seat::held_shared() {
  const auto fiber = current_fiber();
  return core_->strand().run([&] { return current_shared(fiber); });
}

// From writing to reading ----------

void shared_seat::downgrade() {
  auto& strand = core_->strand();
  const auto fiber = current_fiber();
  const auto me = strand.run([&] { return begin_downgrade(fiber); });
  await(strand, me, {}, [](const auto&) {});
}

std::shared_ptr<caller> shared_seat::begin_downgrade(std::uint64_t fiber) {
  require_working(*core_, path_);
  if (!writers_->is_owner(fiber)) {
    throw std::system_error{std::make_error_code(std::errc::operation_not_permitted),
                            path_ + ": this fiber does not write, so there is nothing to downgrade"};
  }
  const failure lost{errc::lock_lost, "it was lost before it was downgraded: unlock it, then wait for it again", path_};
  if (!writers_->current()) lost.raise();
  const auto me = std::make_shared<caller>();
  writers_->downgrade(
      [this, keep = shared_from_this(), me, fiber, lost](std::shared_ptr<ticket> granted, std::uint32_t turns) {
        if (granted) {
          readers_->adopt(std::move(granted), turns, fiber);
          readers_->gate_opened();  // those who waited for this writer
          me->what = caller::outcome::granted;
        } else {
          me->why = std::make_unique<failure>(core_->failed().value_or(lost).at(path_));
          me->what = caller::outcome::failed;
        }
        core_->strand().wake({me, &me->point});
      });
  return me;
}

}  // namespace latchkey::detail
