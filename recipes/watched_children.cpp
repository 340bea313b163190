// SPDX-License-Identifier: Apache-2.0
#include "recipes/watched_children.hpp"

namespace latchkey::detail {

void watched_children::list(bool watching) {
  stop();
  if (!core_.session().connected()) return;
  asked_ = true;
  watching_ = watching;
  unless_stale answered{weak_from_this(), &watched_children::step_, [](watched_children& self, const reply& listed) {
                          self.asked_ = false;
                          if (listed.code != reply_code::ok) self.watching_ = false;
                          self.on_listed_(listed);
                        }};
  request children{.kind = operation::children, .path = path_};
  if (!watching) return core_.session().submit(std::move(children), std::move(answered));
  watch_ = core_.session().submit(
      std::move(children), std::move(answered),
      unless_stale{weak_from_this(), &watched_children::step_, [](watched_children& self, watch_event) {
                     self.watch_ = {};
                     self.watching_ = false;
                     self.on_changed_();
                   }});
}

void watched_children::stop() {
  ++step_;
  core_.session().forget(watch_);
  asked_ = watching_ = false;
}

}  // namespace latchkey::detail
