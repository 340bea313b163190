// SPDX-License-Identifier: Apache-2.0
#include "queue/caller.hpp"

#include <system_error>

#include "base/sole_owner.hpp"

namespace latchkey::detail {

std::shared_ptr<caller> caller_line::make() {
  if (spare_.empty() || !is_sole_owner(spare_.front())) {
    auto me = std::make_shared<caller>();
    me->at = line_.insert(line_.end(), me);
    return me;
  }
  const auto& me = spare_.front();
  me->at = spare_.begin();
  line_.splice(line_.end(), spare_, spare_.begin());
  me->point.reset();
  me->why = nullptr;
  me->what = caller::outcome::waiting;
  return me;
}

void caller_line::settle(const std::shared_ptr<caller>& who, caller::outcome what) {
  auto& strand = core_.strand();
  const auto settled = who;  // the line may hold the last reference
  if (spare_.size() < most_spare) {
    spare_.splice(spare_.end(), line_, settled->at);
  } else {
    line_.erase(settled->at);
  }
  strand.cancel(settled->timer);
  settled->what = what;
  strand.wake({settled, &settled->point});
}

void caller_line::refuse_tries() {
  while (!line_.empty() && line_.front()->once) settle(line_.front(), caller::outcome::refused);
}

void caller_line::refuse_all() {
  while (!line_.empty()) settle(line_.front(), caller::outcome::refused);
}

void caller_line::fail_all(const failure& why) {
  while (!line_.empty()) {
    line_.front()->why = std::make_unique<failure>(why);
    settle(line_.front(), caller::outcome::failed);
  }
}

void require_working(const client_core& core, const std::string& path) {
  if (core.failed()) core.failed()->at(path).raise();
}

void refuse_deadlock(const std::string& path, const char* why) {
  throw std::system_error{std::make_error_code(std::errc::resource_deadlock_would_occur), path + ": " + why};
}

void error_destroyed(const std::string& path) { throw error{errc::closed, "destroyed while it was waited for", path}; }

}  // namespace latchkey::detail
