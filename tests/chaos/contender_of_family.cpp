// SPDX-License-Identifier: Apache-2.0
/// What a holder can do beside holding, and what it must not be able to do.

#include <fmt/format.h>

#include <boost/fiber/operations.hpp>
#include <stop_token>
#include <system_error>

#include <latchkey/error.hpp>

#include "contender.hpp"

namespace chaos {

using namespace std::chrono_literals;

void contender::do_more(int lock, const latchkey::grant& grant) {
  if (under_test(lock).as_reentrant() != nullptr) take_once_more(lock, grant, 3);
  if (how_ == access::shared) try_to_write_too(lock, grant);
}

/// Taken again at once while it is held, refused with `lock_lost` afterwards.
void contender::take_once_more(int lock, const latchkey::grant& grant, int most) {
  auto& mutex = *under_test(lock).as_reentrant();
  const auto depth = mutex.depth();
  const auto manner = std::uniform_int_distribution{0, 3}(random_);
  const bool over = !grant;
  try {
    bool taken = true;
    if (manner == 0) mutex.lock();
    if (manner == 1) taken = mutex.lock(std::stop_token{});
    if (manner == 2) taken = mutex.try_lock();
    if (manner == 3) taken = mutex.try_lock_for(up_to(20ms));
    if (!taken) return tell(event_kind::failed, lock, grant, "its owner could not take it once more");
  } catch (const std::system_error& failure) {
    const bool lost = failure.code() == latchkey::errc::lock_lost && !grant;
    if (!lost) tell(event_kind::failed, lock, grant, fmt::format("taken once more: {}", failure.what()));
    return;
  }
  tell(event_kind::entered, lock, mutex.held());
  if (over) tell(event_kind::failed, lock, grant, "taken once more after it was lost");
  if (mutex.depth() != depth + 1) tell(event_kind::failed, lock, grant, fmt::format("the depth is {}", mutex.depth()));
  boost::this_fiber::sleep_for(up_to(3ms));
  if (look(lock, grant, event_kind::held) && most > 1 && one_in(2)) take_once_more(lock, grant, most - 1);
  if (one_in(2)) return mutex.unlock();
  try {
    mutex.unlock_checked();
  } catch (const std::system_error& failure) {
    tell(event_kind::failed, lock, grant, failure.what());
  }
}

/// A reader is told at once that it cannot become a writer.
void contender::try_to_write_too(int lock, const latchkey::grant& grant) {
  auto& mutex = *under_test(lock).as_shared();
  if (mutex.try_lock()) tell(event_kind::failed, lock, grant, "a reader took the lock to write by trying");
  try {
    mutex.lock();
    tell(event_kind::failed, lock, grant, "a reader took the lock to write");
  } catch (const std::system_error& refused) {
    if (refused.code() == std::errc::resource_deadlock_would_occur) return;
    tell(event_kind::failed, lock, grant, refused.what());
  }
}

/// A mistake that must harm nobody, least of all the one who has the lock now.
void contender::unlock_what_is_not_ours(int lock) {
  if (auto* const reentrant = under_test(lock).as_reentrant()) {
    reentrant->unlock();
    if (reentrant->depth() != 0) tell(event_kind::failed, lock, {}, "locked by one who has only unlocked it");
  }
  if (auto* const shared = under_test(lock).as_shared()) shared->unlock_shared();
}

/// @returns the grant that is to be unlocked then: of a reader, or of a writer who has lost it.
latchkey::grant contender::become_reader(int lock, const latchkey::grant& writer) {
  auto& mutex = *under_test(lock).as_shared();
  tell(event_kind::weakens, lock, writer);
  std::error_code failed;
  try {
    mutex.downgrade();
  } catch (const std::system_error& failure) {
    failed = failure.code();
  }
  if (failed) {
    if (failed != latchkey::errc::lock_lost || writer) {
      tell(event_kind::failed, lock, writer, fmt::format("downgrade: {}", failed.message()));
    }
    if (!writer) after_loss(lock, writer);
    return writer;
  }
  if (writer) tell(event_kind::failed, lock, writer, "a reader by downgrade, and a writer still");
  how_ = access::shared;
  const auto reader = mutex.held_shared();
  use(lock, reader);
  return reader;
}

}  // namespace chaos
