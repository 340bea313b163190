// SPDX-License-Identifier: Apache-2.0
#include "recipes/watched_children.hpp"

namespace latchkey::detail {

void watched_children::list(bool watching) {
  stop();
  if (!core_.session().connected()) return;
  asked_ = true;
  watching_ = watching;
  auto answered = [weak = weak_from_this(), step = step_](const reply& listed) {
    const auto self = weak.lock();
    if (!self || self->step_ != step) return;
    self->asked_ = false;
    if (listed.code != reply_code::ok) self->watching_ = false;
    self->on_listed_(listed);
  };
  request children{.kind = operation::children, .path = path_};
  if (!watching) return core_.session().submit(std::move(children), std::move(answered));
  watch_ =
      core_.session().submit(std::move(children), std::move(answered), [weak = weak_from_this(), step = step_](auto) {
        const auto self = weak.lock();
        if (!self || self->step_ != step) return;
        self->watch_ = {};
        self->watching_ = false;
        self->on_changed_();
      });
}

void watched_children::stop() {
  ++step_;
  core_.session().forget(watch_);
  asked_ = watching_ = false;
}

}  // namespace latchkey::detail
