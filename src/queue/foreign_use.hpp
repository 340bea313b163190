// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Paths that two recipes use which do not exclude each other.

#include <string>
#include <vector>

#include "queue/rule.hpp"
#include "session/client_core.hpp"

namespace latchkey::detail {

/// Warns, once for each path and client, if the children of a path show a use that `mine` does not exclude.
/// @param path absolute, with contenders of kind `mine`
void warn_of_foreign_use(client_core& core, const std::string& path, const rule& mine,
                         const std::vector<std::string>& children);

}  // namespace latchkey::detail
