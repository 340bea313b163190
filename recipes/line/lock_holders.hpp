// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Who holds a lock object.

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/sole_owner.hpp"
#include "queue/grant_state.hpp"
#include "queue/place.hpp"
#include "recipes/line/lazy_timer.hpp"

namespace latchkey::detail {

/// Begins a grant in `state`, which is used again if no `grant` refers to it.
inline void begin_grant(std::shared_ptr<grant_state>& state, const std::shared_ptr<client_core>& core,
                        const std::string& path, lock_counts& counts, const std::string& node, fencing_token fence,
                        time_point now) {
  if (state && is_sole_owner(state)) return state->begin_again(node, fence, now);
  state = std::make_shared<grant_state>(core, path, counts, node, fence, now);
}

/// Stands for a holder that is no fiber: a guard of a semaphore, or one that has been moved. Unlike any fiber.
std::uint64_t new_holder() noexcept;
/// @returns whether it is one, or was.
bool is_fiber(std::uint64_t holder) noexcept;

/// What one holder has.
struct hold {
  std::uint64_t by = 0;                ///< a fiber, or `new_holder()`
  bool guarded = false;                ///< it has a guard, which alone releases the lock
  std::shared_ptr<grant_state> grant;  ///< begun again for the next holder
  std::shared_ptr<place_listener> on;  ///< has the entry that it rests on, if the lock object has several

  bool is(const latchkey::grant& what) const noexcept { return grant_state::of(what) == grant; }
  /// @returns whether `unlock()` on this fiber is for it.
  bool unlocks(std::uint64_t fiber) const noexcept { return by == fiber && !guarded; }
  /// @returns whether its thread or fiber has ended without `unlock()`.
  bool abandoned() const;
};

/// The holders of one lock object, until they unlock: also after a loss. The first one needs no memory, and later ones
/// use again what others had.
class lock_holders {
 public:
  /// @param core and `path`, of the lock below the chroot: must outlive them
  /// @param most how long one may hold; zero: for ever
  lock_holders(const std::shared_ptr<client_core>& core, const std::string& path, lock_counts& counts, duration most)
      : core_{core}, path_{&path}, counts_{counts}, most_{most}, limit_{core->monitor()} {}

  bool empty() const noexcept { return !present_ && (!others_ || others_->by_who.empty()); }
  /// @returns the holder of an exclusive lock; null if there is none.
  hold* only() noexcept { return present_ ? &first_ : nullptr; }
  hold* find(std::uint64_t by) noexcept {
    if (present_ && first_.by == by) return &first_;
    return others_ ? find_another(by) : nullptr;
  }

  /// @pre it does not hold `of`, a lock object whose `end_overdue` calls that of its holders
  template <class Lock>
  hold& begin(Lock& of, std::uint64_t by, const std::string& node, fencing_token fence, time_point now) {
    if (most_ != duration::zero())
      limit_.set(of, deadline_after(now, most_), [&of](time_point at) { return of.end_overdue(at); });
    auto& mine = add(by);
    begin_grant(mine.grant, core_, *path_, counts_, node, fence, now);
    return mine;
  }
  /// @pre it rests on nothing any more
  void end(hold& which, time_point now) {
    which.grant->release(now);
    &which == &first_ ? void(present_ = false) : remove_another(which);
  }
  /// @pre there is none. What is held next is the lock at `path`, which must outlive them.
  void rename(const std::string& path) {
    if (std::exchange(path_, &path) != &path) first_.grant = nullptr;
  }
  /// Those whose grants have ended go, too.
  void clear() noexcept {
    present_ = false;
    others_ = nullptr;
  }
  /// Its guard has been moved. @returns who it is now.
  std::uint64_t disown(hold& which);

  template <class Callable>
  void for_each(Callable what) {
    if (present_) what(first_);
    if (!others_) return;
    for (auto& [by, each] : others_->by_who) what(each);
  }

  /// Those that have held for too long have lost the lock; then `end` lets go of what they rest on.
  /// @returns when the next one will have; `never` if there is none
  template <class Callable>
  time_point end_overdue(time_point now, Callable end) {
    auto next = never;
    for_each([&](hold& each) {
      if (each.grant->ended()) return;
      if (const auto last = deadline_after(each.grant->since(), most_); now < last) {
        next = std::min(next, last);
      } else {
        each.grant->lose(loss_reason::held_too_long);
        end(each);
      }
    });
    return next;
  }
  void stop_limit() { limit_.stop(); }

  /// Of the destructor of the lock object.
  void warn_of_holds();

 private:
  struct others {
    using table = std::unordered_map<std::uint64_t, hold>;
    table by_who;
    std::vector<table::node_type> spare;
  };

  hold& add(std::uint64_t by) {
    auto& mine = std::exchange(present_, true) ? add_another(by) : first_;
    mine.by = by;
    mine.guarded = false;
    return mine;
  }
  hold* find_another(std::uint64_t by) noexcept;
  hold& add_another(std::uint64_t by);
  void remove_another(const hold& which);

  const std::shared_ptr<client_core>& core_;
  const std::string* path_;
  lock_counts& counts_;
  const duration most_;
  lazy_timer limit_;
  bool present_ = false;
  hold first_;
  std::unique_ptr<others> others_;  // none yet, as an exclusive lock has none
};

}  // namespace latchkey::detail
