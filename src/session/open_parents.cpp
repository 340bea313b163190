// SPDX-License-Identifier: Apache-2.0
#include "session/open_parents.hpp"

#include "base/log.hpp"

namespace latchkey::detail {

void open_parents::look(const std::string& path) {
  if (!acl_ || seen_.size() >= most_paths || !seen_.insert(path).second) return;
  const auto on_read = [this, path](const reply& read) {
    if (read.code != reply_code::ok && read.code != reply_code::no_permission) seen_.erase(path);  // look again
    if (read.code != reply_code::ok || read.data.find_first_of("cda") == std::string::npos) return;
    log(log_level::warning,
        "the path of a lock is open to anyone, so client_options::acl does not protect the lock; "
        "set an ACL on the path, and create it with one before its first use",
        {{"path", path}, {"anyone_may", read.data}});
  };
  session_.submit({.kind = operation::get_acl, .path = path}, on_read, urgency::background);
}

}  // namespace latchkey::detail
