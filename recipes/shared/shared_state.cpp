// SPDX-License-Identifier: Apache-2.0
#include "recipes/shared/shared_state.hpp"

#include <system_error>
#include <utility>

namespace latchkey::detail {

shared_state::shared_state(std::shared_ptr<client_core> core, std::string path, cohort_options writers,
                           readers_options readers)
    : core_{std::move(core)},
      path_{std::move(path)},
      writers_{std::make_shared<cohort>(core_, path_, contender_kind::write, writers)},
      readers_{std::make_shared<detail::reader_group>(core_, path_, readers)} {
  writers_->exclude(*readers_, "holds the lock as a reader, and there is no upgrade; call unlock_shared() first");
  readers_->exclude(*writers_, "holds the lock as the writer; call downgrade() to become a reader");
}

void shared_state::shut() noexcept {
  if (core_->monitor().forked()) return keep_for_ever(shared_from_this());
  writers_->shut();
  readers_->shut();
}

// From writing to reading ----------

void shared_state::downgrade() {
  const auto fiber = current_fiber();
  constexpr auto otherwise =
      "the caller has not taken the lock by lock(), as the writer; a writer with a guard calls downgrade(guard)";
  become_reader(fiber, otherwise, [fiber](const hold& writer) { return writer.unlocks(fiber); });
}

guard shared_state::downgrade(const grant& writer) {
  const auto reader = new_holder();
  constexpr auto otherwise = "the guard is not that of the writer of this lock; give the one that acquire() returned";
  become_reader(reader, otherwise, [&writer](const hold& present) { return present.is(writer); });
  return readers_->guard_of(reader);
}

/// @param is_caller whether the writer is who calls. @param otherwise the text of the error if it is not
template <class Predicate>
void shared_state::become_reader(std::uint64_t reader, const char* otherwise, Predicate is_caller) {
  auto& monitor = core_->monitor();
  const auto me = monitor.run([&] {
    const auto* const writer = writers_->holding(reader);
    if (writer && is_caller(*writer)) return begin_downgrade(reader);
    throw std::system_error{std::make_error_code(std::errc::operation_not_permitted), path_ + ": " + otherwise};
  });
  await(monitor, me, {}, [](const auto&) {});
}

std::shared_ptr<waiter> shared_state::begin_downgrade(std::uint64_t reader) {
  require_working(*core_, path_);
  const failure lost{errc::lock_lost,
                     "the lock was lost before the downgrade; lock it again, after an unlock() if lock() took it",
                     path_};
  if (!writers_->current()) lost.throw_it();
  const auto me = std::make_shared<waiter>();
  writers_->downgrade(
      [this, keep = shared_from_this(), me, reader, lost](std::shared_ptr<place> granted, std::uint32_t turns) {
        if (granted) {
          readers_->adopt(std::move(granted), turns, reader);
          me->set(waiter::outcome::granted);
        } else {
          me->why = std::make_unique<failure>(core_->failed().value_or(lost).at(path_));
          me->set(waiter::outcome::failed);
        }
        core_->monitor().wake({me, &me->point});
      });
  return me;
}

}  // namespace latchkey::detail
