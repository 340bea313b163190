// SPDX-License-Identifier: Apache-2.0
#include "queue/remote_waiters.hpp"

#include <utility>

#include "base/path.hpp"

namespace latchkey::detail {

remote_waiters::remote_waiters(client_core& core, std::string path, const rule& mine,
                               std::function<bool(std::string_view)> is_ours, std::function<void()> on_answer)
    : conversation{core},
      path_{std::move(path)},
      mine_{mine},
      is_ours_{std::move(is_ours)},
      on_answer_{std::move(on_answer)} {}

void remote_waiters::watch() {
  if (known_ == answer::unknown && connected()) look();
}

void remote_waiters::stop() {
  anew();
  known_ = answer::unknown;
}

void remote_waiters::look() {
  anew();
  if (known_ == answer::unknown) known_ = answer::asked;
  conversation::watch(
      {.kind = operation::children, .path = path_},
      [](remote_waiters& self, const reply& listed) { self.on_listed(listed); },
      [](remote_waiters& self) {
        if (self.known_ != answer::none) return;
        if (self.connected()) return self.look();
        self.known_ = answer::unknown;
      });
}

void remote_waiters::on_listed(const reply& listed) {
  const auto before = known_;
  known_ = judge(listed);
  if (known_ != answer::none) unwatch();
  if (known_ != before) on_answer_();
}

/// A missing or unreadable answer counts as a remote waiter: it costs a place, not the order.
remote_waiters::answer remote_waiters::judge(const reply& listed) const {
  if (listed.code == reply_code::no_node) return answer::gone;
  if (listed.code != reply_code::ok) return answer::waiting;
  bool here = false;
  bool waiting = false;
  for (const auto& name : listed.children) {
    const auto path = join(path_, name);
    if (is_ours_(path)) {
      here = true;
    } else if (rival_of(mine_, name) && !core().reaper().removes(path)) {
      waiting = true;
    }
  }
  if (!here) return answer::gone;
  return waiting ? answer::waiting : answer::none;
}

}  // namespace latchkey::detail
