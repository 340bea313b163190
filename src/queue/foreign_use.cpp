// SPDX-License-Identifier: Apache-2.0
#include "queue/foreign_use.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "base/log.hpp"

namespace latchkey::detail {

void warn_of_foreign_use(client_core& core, const std::string& path, const rule& mine,
                         const std::vector<std::string>& children) {
  const auto is_there = [&](auto name) { return std::find(children.begin(), children.end(), name) != children.end(); };
  const auto& shown_by = mine.foreign_use;
  if (shown_by.empty() || !std::all_of(shown_by.begin(), shown_by.end(), is_there) || !core.warns_first(path)) return;
  log(log_level::warning,
      fmt::format("a path is used as a lock and as a {}, which do not exclude each other; use one recipe for each path",
                  mine.foreign_name),
      {{"path", path}});
}

}  // namespace latchkey::detail
