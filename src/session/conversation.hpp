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

  /// As `ask`, with a watch. @param changed called with `Self&`, and with the event if it wants that, when the watch fires
  template <class Answered, class Changed>
  void watch(request what, Answered then, Changed changed, urgency how = urgency::call) {
    watch_ = core_.session().submit(std::move(what), unless_stale(std::move(then)),
                                    unless_stale([changed](Self& self, watch_event event) {
                                      self.conversation::watch_ = {};
                                      self.conversation::tell(changed, event);
                                    }),
                                    how);
  }
  /// As `watch`, but if there are too many watches already, it asks without one, and `changed` is called a pause after the
  /// answer, as if the data had changed. Not for what must be told of each change before an answer that comes later.
  template <class Answered, class Changed>
  void watch_or_look(request what, Answered then, Changed changed, urgency how = urgency::call) {
    const bool is_view = how == urgency::background;
    if (core_.session().may_watch(what.path, is_view ? watch_room::spare : watch_room::needed)) {
      core_.monitor().cancel(pause_);
      return watch(std::move(what), std::move(then), std::move(changed), how);
    }
    const auto timeout = core_.session().info().timeout;
    ask(
        std::move(what),
        [then, changed, pause = is_view ? timeout : timeout / 4](Self& self, const reply& answer) {
          if (answer.code == reply_code::ok) self.conversation::look_after(pause, changed);
          std::invoke(then, self, answer);
        },
        how);
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
  template <class Changed>
  void tell(const Changed& changed, watch_event event) {
    auto& self = static_cast<Self&>(*this);
    if constexpr (std::is_invocable_v<const Changed&, Self&, watch_event>) {
      std::invoke(changed, self, event);
    } else {
      std::invoke(changed, self);
    }
  }
  template <class Changed>
  void look_after(duration pause, Changed changed) {
    after(pause, [pause, changed](Self& self) {
      if (!self.conversation::connected()) return self.conversation::look_after(pause, changed);
      self.conversation::tell(changed, watch_event::changed);
    });
  }

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
