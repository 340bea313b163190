// SPDX-License-Identifier: Apache-2.0
#include "queue/watched_children.hpp"

namespace latchkey::detail {

void watched_children::list(bool watching) {
  stop();
  if (!connected()) return;
  asked_ = true;
  watching_ = watching;
  const auto on_listed = [](watched_children& self, const reply& listed) {
    self.asked_ = false;
    if (listed.code != reply_code::ok) self.watching_ = false;
    self.on_listed_(listed);
  };
  request children{.kind = operation::children, .path = path_};
  if (!watching) return ask(std::move(children), on_listed);
  watch(std::move(children), on_listed, [](watched_children& self) {
    self.watching_ = false;
    self.on_changed_();
  });
}

void watched_children::stop() {
  anew();
  asked_ = watching_ = false;
}

}  // namespace latchkey::detail
