// SPDX-License-Identifier: Apache-2.0
#include "recipes/shared_state.hpp"

#include <system_error>
#include <utility>

namespace latchkey::detail {

shared_state::shared_state(std::shared_ptr<client_core> core, std::string path, cohort_options writers,
                           readers_options readers)
    : core_{std::move(core)},
      path_{std::move(path)},
      writers_{std::make_shared<cohort>(core_, path_, contender_kind::write, writers)},
      readers_{std::make_shared<detail::reader_group>(core_, path_, readers)} {}

void shared_state::open() {
  writers_->open();
  readers_->open();
  core_->monitor().run([this] {
    writers_->gate([readers = readers_.get()] { return !readers->any(); });
    readers_->gate([writers = writers_.get()] { return !writers->is_owned(); });
  });
}

void shared_state::shut() noexcept {
  if (core_->monitor().forked()) return keep_for_ever(shared_from_this());
  writers_->shut();
  readers_->shut();
}

// To write ----------

std::shared_ptr<waiter> shared_state::enter(std::uint64_t fiber, time_point until) {
  if (!is_try(until) && readers_->is_reading(fiber)) {
    refuse_deadlock(path_, "holds the lock as a reader, and there is no upgrade; call unlock_shared() first");
  }
  return writers_->enter(fiber, until);
}

void shared_state::leave() {
  writers_->leave();
  if (!writers_->is_owned()) readers_->gate_opened();
}

// To read ----------

bool shared_state::acquire_shared(duration timeout, std::stop_token stop) {
  return call(
      core_->monitor(), timeout, std::move(stop), [this](auto fiber, auto until) { return enter_shared(fiber, until); },
      [this](const auto& who) { cancel_shared(who); });
}

std::shared_ptr<waiter> shared_state::enter_shared(std::uint64_t fiber, time_point until) {
  if (!is_try(until) && writers_->is_owner(fiber)) {
    refuse_deadlock(path_, "holds the lock as the writer; call downgrade() to become a reader");
  }
  return readers_->enter(fiber, until);
}

guard shared_state::acquire_shared_guard(duration timeout, std::stop_token stop) {
  const auto fiber = current_fiber();
  return acquire_shared(timeout, std::move(stop)) ? guard_of_reader(fiber) : guard{};
}

guard shared_state::guard_of_reader(std::uint64_t reader) {
  return core_->monitor().run([&] {
    readers_->give_guard(reader);
    return read_side::make_guard({shared_from_this(), &read_side_}, current_shared(reader), reader);
  });
}

void shared_state::unlock_shared() noexcept {
  const auto fiber = current_fiber();
  const bool was_reading = core_->monitor().forked() ||
                           core_->monitor().run([&] { return readers_->unlocks(fiber) && leave_shared(fiber); });
  if (!was_reading) log_wrong_unlock(path_, "unlock_shared()");
}

void shared_state::read_side::release_grant(std::uint64_t holder, const grant& what) noexcept {
  of_.core_->monitor().run_unless_forked([&] {
    if (of_.current_shared(holder) == what) of_.leave_shared(holder);
  });
}

std::uint64_t shared_state::read_side::disown(std::uint64_t holder, const grant& what) noexcept {
  const auto renamed = new_holder();
  of_.core_->monitor().run_unless_forked([&] {
    if (of_.current_shared(holder) == what) of_.readers_->rename(holder, renamed);
  });
  return renamed;
}

bool shared_state::leave_shared(std::uint64_t fiber) {
  if (!readers_->leave(fiber)) return false;
  if (!readers_->any()) writers_->gate_opened();
  return true;
}

grant shared_state::held_shared() {
  const auto fiber = current_fiber();
  return core_->monitor().run_unless_forked([&] { return current_shared(fiber); });
}

// From writing to reading ----------

void shared_state::downgrade() {
  const auto fiber = current_fiber();
  become_reader(fiber, [fiber](const owner& writer) { return writer.unlocks(fiber); });
}

guard shared_state::downgrade(const grant& writer) {
  const auto reader = new_holder();
  become_reader(reader, [&writer](const owner& present) { return present.is(writer); });
  return guard_of_reader(reader);
}

/// @param is_caller whether the writer is who calls
template <class Predicate>
void shared_state::become_reader(std::uint64_t reader, Predicate is_caller) {
  auto& monitor = core_->monitor();
  const auto me = monitor.run([&] {
    if (is_caller(writers_->holder())) return begin_downgrade(reader);
    throw std::system_error{std::make_error_code(std::errc::operation_not_permitted),
                            path_ +
                                ": the caller does not hold the lock as the writer; call lock() before downgrade(), "
                                "or acquire() before downgrade(guard)"};
  });
  await(monitor, me, {}, [](const auto&) {});
}

std::shared_ptr<waiter> shared_state::begin_downgrade(std::uint64_t reader) {
  require_working(*core_, path_);
  const failure lost{errc::lock_lost, "the lock was lost before the downgrade; unlock it, then lock it again", path_};
  if (!writers_->current()) lost.throw_it();
  const auto me = std::make_shared<waiter>();
  writers_->downgrade(
      [this, keep = shared_from_this(), me, reader, lost](std::shared_ptr<queue_entry> granted, std::uint32_t turns) {
        if (granted) {
          readers_->adopt(std::move(granted), turns, reader);
          readers_->gate_opened();  // those who waited for this writer
          me->what = waiter::outcome::granted;
        } else {
          me->why = std::make_unique<failure>(core_->failed().value_or(lost).at(path_));
          me->what = waiter::outcome::failed;
        }
        core_->monitor().wake({me, &me->point});
      });
  return me;
}

}  // namespace latchkey::detail
