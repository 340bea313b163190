// SPDX-License-Identifier: Apache-2.0
#include "queue/foreign_use.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "base/log.hpp"
#include "base/path.hpp"

namespace latchkey::detail {

void warn_of_foreign_use(client_core& core, const std::string& path, const rule& mine) {
  if (!core.warns_first(path)) return;
  log(log_level::warning,
      fmt::format("a path is used as a lock and as a {}, which do not exclude each other; use one recipe for each path",
                  mine.foreign_name),
      {{"path", path}});
}

bool shows_foreign_use(const rule& mine, const std::vector<std::string>& children) {
  return std::any_of(children.begin(), children.end(),
                     [&](const auto& name) { return mine.foreign_kind->number(name).has_value(); });
}

void look_for_foreign_use(client_core& core, const std::string& path, const rule& mine,
                          const std::vector<std::string>& children) {
  const auto is_there = [&](auto name) { return std::find(children.begin(), children.end(), name) != children.end(); };
  const auto& shown_by = mine.foreign_use;
  if (shown_by.empty() || !std::all_of(shown_by.begin(), shown_by.end(), is_there) || core.has_warned(path)) return;
  core.session().submit(
      {.kind = operation::children, .path = join(path, shown_by.front())},
      [&core, &mine, path](const reply& listed) {
        if (shows_foreign_use(mine, listed.children)) warn_of_foreign_use(core, path, mine);
      },
      urgency::background);
}

}  // namespace latchkey::detail
