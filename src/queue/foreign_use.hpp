// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Paths that two recipes use which do not exclude each other.

#include <string>
#include <vector>

#include "queue/rule.hpp"
#include "session/client_core.hpp"

namespace latchkey::detail {

/// Warns, once for each path and client, that it is used in the way that `mine` does not exclude.
/// @param path absolute, with contenders of kind `mine`
void warn_of_foreign_use(client_core& core, const std::string& path, const rule& mine);

/// Warns if it is. If the children have the names that such a use has, they are looked into, which costs a read: other
/// locks may have these names.
void look_for_foreign_use(client_core& core, const std::string& path, const rule& mine,
                          const std::vector<std::string>& children);

/// @returns whether there is a contender of that use among the children of `mine.foreign_use.front()`.
bool shows_foreign_use(const rule& mine, const std::vector<std::string>& children);

}  // namespace latchkey::detail
