// SPDX-License-Identifier: Apache-2.0
#include "bridge/reply_values.hpp"

#include <algorithm>
#include <cstddef>

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

void copy_data(const char* value, int size, reply& to) {
  if (value == nullptr || size <= 0) return;
  to.data_size = static_cast<std::size_t>(size);
  to.data.assign(value, std::min(to.data_size, most_data));
}

node_stat to_stat(const Stat* stat) noexcept {
  if (stat == nullptr) return {};
  return {.czxid = stat->czxid, .ephemeral_owner = stat->ephemeralOwner, .ctime = stat->ctime};
}

}  // namespace latchkey::detail
