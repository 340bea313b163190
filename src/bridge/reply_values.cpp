// SPDX-License-Identifier: Apache-2.0
#include "bridge/reply_values.hpp"

#include <algorithm>
#include <cstddef>
#include <string_view>
#include <utility>

namespace latchkey::detail {

bool copy_names(const String_vector* names, std::vector<std::string>& to) {
  to.clear();
  if (names == nullptr || names->count < 0 || (names->count > 0 && names->data == nullptr)) return false;
  for (std::int32_t i = 0; i < names->count; ++i) {
    if (names->data[i] == nullptr) {
      to.clear();
      return false;
    }
    to.emplace_back(names->data[i]);
  }
  return true;
}

void copy_data(const char* value, int size, std::size_t most, reply& to) {
  if (value == nullptr || size <= 0) return;
  to.data_size = static_cast<std::size_t>(size);
  to.data.assign(value, std::min(to.data_size, most));
}

std::string permissions_of_anyone(const ACL_vector* acl) {
  std::int32_t bits = 0;
  for (std::int32_t i = 0; acl != nullptr && acl->data != nullptr && i < acl->count; ++i) {
    const auto& [scheme, id] = acl->data[i].id;
    if (scheme == nullptr || id == nullptr) continue;
    if (std::string_view{scheme} == "world" && std::string_view{id} == "anyone") bits |= acl->data[i].perms;
  }
  std::string letters;
  for (const auto& [bit, letter] :
       {std::pair{ZOO_PERM_CREATE, 'c'}, std::pair{ZOO_PERM_DELETE, 'd'}, std::pair{ZOO_PERM_READ, 'r'},
        std::pair{ZOO_PERM_WRITE, 'w'}, std::pair{ZOO_PERM_ADMIN, 'a'}}) {
    if ((bits & bit) != 0) letters += letter;
  }
  return letters;
}

node_stat to_stat(const Stat* stat) noexcept {
  if (stat == nullptr) return {};
  return {.czxid = stat->czxid,
          .pzxid = stat->pzxid,
          .ephemeral_owner = stat->ephemeralOwner,
          .ctime = stat->ctime,
          .version = stat->version};
}

watch_event to_watch_event(int type) noexcept {
  if (type == ZOO_DELETED_EVENT) return watch_event::deleted;
  if (type == ZOO_CHILD_EVENT) return watch_event::children_changed;
  return watch_event::changed;  // also created, and "not watching any more": those who hear it look again
}

}  // namespace latchkey::detail
