// SPDX-License-Identifier: Apache-2.0
#include "queue/wait_list.hpp"

#include <system_error>
#include <utility>

#include "base/sole_owner.hpp"

namespace latchkey::detail {

std::shared_ptr<waiter> wait_list::make() {
  if (spare_.empty() || !is_sole_owner(spare_.front())) {
    auto me = std::make_shared<waiter>();
    me->at = line_.insert(line_.end(), me);
    return me;
  }
  const auto& me = spare_.front();
  me->at = spare_.begin();
  line_.splice(line_.end(), spare_, spare_.begin());
  if (std::exchange(me->woken, false)) me->point.reset();
  me->entering = false;
  me->why = nullptr;
  me->what.store(waiter::outcome::waiting, std::memory_order_relaxed);
  return me;
}

void wait_list::conclude(const std::shared_ptr<waiter>& who, waiter::outcome what) {
  core_.monitor().cancel(who->timer);
  who->what.store(what, std::memory_order_release);
  if (!who->entering) {
    who->woken = true;
    core_.monitor().wake({who, &who->point});
  }
  // Last: the line may hold the last reference, and `who` be that one.
  if (spare_.size() < most_spare) {
    spare_.splice(spare_.end(), line_, who->at);
  } else {
    line_.erase(who->at);
  }
}

void wait_list::refuse_tries() {
  for (auto at = line_.begin(); at != line_.end();) {
    const auto& each = *at++;
    if (each->once) conclude(each, waiter::outcome::refused);
  }
}

void wait_list::refuse_all() {
  while (!line_.empty()) conclude(line_.front(), waiter::outcome::refused);
}

void wait_list::fail_all(const failure& why) {
  while (!line_.empty()) {
    line_.front()->why = std::make_unique<failure>(why);
    conclude(line_.front(), waiter::outcome::failed);
  }
}

void require_working(const client_core& core, const std::string& path) {
  if (core.failed()) core.failed()->at(path).raise();
}

void refuse_deadlock(const std::string& path, const char* why) {
  throw std::system_error{std::make_error_code(std::errc::resource_deadlock_would_occur), path + ": " + why};
}

void throw_destroyed(const std::string& path) {
  throw error{errc::lock_destroyed,
              "a call or a place in line still used the lock object; destroy it after they are done", path};
}

}  // namespace latchkey::detail
