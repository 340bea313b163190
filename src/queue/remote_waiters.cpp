// SPDX-License-Identifier: Apache-2.0
#include "queue/remote_waiters.hpp"

#include <utility>

#include "base/path.hpp"

namespace latchkey::detail {

remote_waiters::remote_waiters(client_core& core, std::string path, const rule& mine,
                               std::function<bool(std::string_view)> is_ours, std::function<void()> on_answer)
    : core_{core},
      path_{std::move(path)},
      mine_{mine},
      is_ours_{std::move(is_ours)},
      on_answer_{std::move(on_answer)} {}

void remote_waiters::watch() {
  if (known_ == answer::unknown && core_.session().connected()) ask();
}

void remote_waiters::stop() {
  ++step_;
  core_.session().forget(watch_);
  known_ = answer::unknown;
}

void remote_waiters::ask() {
  ++step_;
  if (known_ == answer::unknown) known_ = answer::asked;
  watch_ = core_.session().submit(
      {.kind = operation::children, .path = path_},
      unless_stale{weak_from_this(), &remote_waiters::step_,
                   [](remote_waiters& self, const reply& listed) { self.on_listed(listed); }},
      unless_stale{weak_from_this(), &remote_waiters::step_, [](remote_waiters& self, watch_event) {
                     self.watch_ = {};
                     if (self.known_ == answer::nobody && self.core_.session().connected()) return self.ask();
                     if (self.known_ == answer::nobody) self.known_ = answer::unknown;
                   }});
}

void remote_waiters::on_listed(const reply& listed) {
  const auto before = known_;
  known_ = judge(listed);
  if (known_ != answer::nobody) core_.session().forget(watch_);
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
    } else if (rival_of(mine_, name) && !core_.reaper().removes(path)) {
      waiting = true;
    }
  }
  if (!here) return answer::gone;
  return waiting ? answer::waiting : answer::nobody;
}

}  // namespace latchkey::detail
