// SPDX-License-Identifier: Apache-2.0
#pragma once

/// What the ensemble refuses, in words.

#include <functional>
#include <set>
#include <string>
#include <string_view>

#include "session/client_core.hpp"

namespace latchkey::detail {

/// @param core with whose monitor held it has just been answered
/// @param code neither `ok` nor `is_lost`
/// @param permissions what this client lacks if the ACL denies the request, as "the permissions c, d and r"
/// @returns what to tell the caller of a request that the ensemble has refused.
failure refusal(client_core& core, reply_code code, std::string_view permissions);

/// @returns the same for the creation of `node`, an absolute path.
failure refusal_to_create(client_core& core, const std::string& node, reply_code code);

/// @returns the failure of a path that is missing however often it is created.
failure always_missing();

/// Asks for the creation of `path` and of all that is above it: the nodes of the chroot persistent, the others
/// containers. A container may be deleted before it has a child, so the caller has to be ready to ask again. With the
/// monitor held, and connected.
/// @param path absolute
/// @param on_refused runs for each node that the ensemble refuses to create. That matters only if the path turns out to
/// be missing, as the ensemble looks at the permission first.
/// @param asked what has been asked for in the same round trip; it is left out
void create_path(client_core& core, std::string_view path, const std::function<void(const failure&)>& on_refused,
                 std::set<std::string>& asked);
void create_path(client_core& core, std::string_view path, const std::function<void(const failure&)>& on_refused);
/// As above, for what no call waits for. @param is_unwanted once that returns true, what has not been sent is withdrawn
void create_path_later(client_core& core, std::string_view path, const std::function<void(const failure&)>& on_refused,
                       const std::function<bool()>& is_unwanted);

}  // namespace latchkey::detail
