// SPDX-License-Identifier: Apache-2.0
#pragma once

/// One question at a time.

#include <cstdint>
#include <functional>
#include <memory>
#include <type_traits>
#include <utility>

#include "session/client_core.hpp"

namespace latchkey::detail {

/// Base of an object that asks the ensemble one thing at a time, with at most one watch and one pause. What it begins
/// anew makes stale what is under way: a stale answer, event or end of a pause is not told, and a stale request that has
/// not been sent is withdrawn. So is everything once the object has gone.
template <class Self>
class conversation : public std::enable_shared_from_this<Self> {
 protected:
  explicit conversation(client_core& core) : core_{core} {}
  ~conversation() = default;
  conversation(const conversation&) = delete;
  conversation& operator=(const conversation&) = delete;

  client_core& core() const noexcept { return core_; }
  bool connected() const noexcept { return core_.session().connected(); }

  /// Makes stale what has been asked, the watch and the pause.
  void anew() {
    ++step_;
    core_.session().forget(watch_);
    core_.monitor().cancel(pause_);
  }

  /// @param then called with `Self&` and the reply
  template <class Answered>
  void ask(request what, Answered then, urgency how = urgency::call) {
    core_.session().submit(std::move(what), unless_stale(std::move(then)), how);
  }

  /// As `ask`, with a watch. @param changed called with `Self&`, and with the event if it wants that, when the watch
  /// fires. If there are too many watches already, it is called after a pause instead, as if the data had changed.
  template <class Answered, class Changed>
  void watch(request what, Answered then, Changed changed, urgency how = urgency::call) {
    const auto tell = [changed](Self& self, watch_event event) {
      self.conversation::watch_ = {};
      if constexpr (std::is_invocable_v<const Changed&, Self&, watch_event>) {
        std::invoke(changed, self, event);
      } else {
        std::invoke(changed, self);
      }
    };
    auto& session = core_.session();
    const bool is_view = how == urgency::background;
    if (!session.may_watch(what.path, is_view ? watch_room::spare : watch_room::needed)) {
      after(is_view ? session.info().timeout : session.info().timeout / 4,
            [tell](Self& self) { tell(self, watch_event::changed); });
      return ask(std::move(what), std::move(then), how);
    }
    watch_ = session.submit(std::move(what), unless_stale(std::move(then)), unless_stale(tell), how);
  }
  bool watching() const noexcept { return watch_.number != 0; }
  /// Ends the watch, and nothing else.
  void unwatch() { core_.session().forget(watch_); }

  /// @param then called with `Self&` after a pause
  template <class Ended>
  void after(duration pause, Ended then) {
    core_.monitor().cancel(pause_);
    pause_ = core_.monitor().in(pause, unless_stale([then](Self& self) {
                                  self.conversation::pause_ = {};
                                  std::invoke(then, self);
                                }));
  }

 private:
  template <class Callable>
  auto unless_stale(Callable what) {
    return detail::unless_stale{this->weak_from_this(), static_cast<std::uint64_t Self::*>(&conversation::step_),
                                std::move(what)};
  }

  client_core& core_;
  std::uint64_t step_ = 0;
  watch_id watch_;
  timer_id pause_;
};

}  // namespace latchkey::detail
