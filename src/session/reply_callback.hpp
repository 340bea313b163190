// SPDX-License-Identifier: Apache-2.0
#pragma once

/// What is done with an answer, and until when it is waited for.

#include <cstdint>
#include <functional>
#include <memory>
#include <type_traits>
#include <utility>

#include "bridge/znodes.hpp"

namespace latchkey::detail {

/// Runs once. The callable may have a member `is_stale()`. Once that is true the answer is not waited for any more: if the
/// request has not been sent by then it is withdrawn, and the callable is given `not_sent`, perhaps within a call of
/// `session::submit`; so it does no more than count then.
class reply_callback {
 public:
  reply_callback() = default;
  template <class Callable>
  requires std::is_invocable_v<Callable&, reply&> &&
      (!std::is_same_v<Callable, reply_callback>)reply_callback(Callable what)
      : what_{std::move(what)} {  // NOLINT(google-explicit-constructor)
    if constexpr (requires(const Callable& each) { each.is_stale(); }) {
      is_stale_ = [](const std::function<void(reply&)>& of) { return of.target<Callable>()->is_stale(); };
    }
  }

  explicit operator bool() const noexcept { return static_cast<bool>(what_); }
  bool is_stale() const { return is_stale_ != nullptr && is_stale_(what_); }
  void operator()(reply& with) const { what_(with); }

 private:
  std::function<void(reply&)> what_;
  bool (*is_stale_)(const std::function<void(reply&)>&) = nullptr;
};

/// `what`, which is not waited for once `is_stale()` is true.
template <class Stale, class Callable>
struct while_wanted {
  Stale is_stale;
  Callable what;

  template <class... With>
  void operator()(With&&... with) {
    what(std::forward<With>(with)...);
  }
};
template <class Stale, class Callable>
while_wanted(Stale, Callable) -> while_wanted<Stale, Callable>;

/// Calls `what(asker, ...)`, unless the asker has gone, or has begun something else since: then its `step` is another.
/// @param asker a shared pointer, which keeps it, or a weak one
template <class Pointer, class Asker, class Callable>
class unless_stale {
 public:
  unless_stale(Pointer asker, std::uint64_t Asker::*step, Callable what)
      : asker_{std::move(asker)}, step_{step}, begun_{(*locked(asker_)).*step}, what_{std::move(what)} {}

  bool is_stale() const {
    const auto& self = locked(asker_);
    return !self || (*self).*step_ != begun_;
  }
  template <class... With>
  void operator()(With&&... with) {
    const auto self = locked(asker_);
    if (self && (*self).*step_ == begun_) std::invoke(what_, *self, with...);
  }

 private:
  static std::shared_ptr<Asker> locked(const std::weak_ptr<Asker>& asker) { return asker.lock(); }
  static const std::shared_ptr<Asker>& locked(const std::shared_ptr<Asker>& asker) { return asker; }

  Pointer asker_;
  std::uint64_t Asker::*step_;
  std::uint64_t begun_;
  Callable what_;
};

}  // namespace latchkey::detail
