// SPDX-License-Identifier: Apache-2.0
#pragma once

/// The paths of znodes.

#include <string>
#include <string_view>
#include <vector>

#include <latchkey/export.hpp>

namespace latchkey::detail {

/// The longest path. A request that is larger than the servers take (`jute.maxbuffer`, 1 MiB) ends the connection, and
/// ends it again each time it is repeated; one request has several paths.
inline constexpr std::size_t most_path_bytes = 4096;

/// @returns what is wrong with the path and what to write instead; empty for one that ZooKeeper accepts and that is not
/// reserved. As strict as ZooKeeper's PathUtils: the C client lets paths pass that end the connection at the server,
/// and crashes on others (HAZARDS 15, 16).
std::string path_fault(std::string_view path);

/// @throws error bad_path, with the fault
LATCHKEY_EXPORT void validate_path(std::string_view path);

/// As `validate_path`, and the root is none: a lock needs a node of its own.
void validate_lock_path(std::string_view path);

/// @returns a valid component of a path for any bytes but none at all, different for different ones: what a path cannot
/// have, and the percent sign, is written %XX.
std::string as_component(std::string_view bytes);

/// @returns the path of the child `name` of `parent`; a `name` that is a path itself is put below `parent`: the chroot.
std::string join(std::string_view parent, std::string_view name);

/// @returns the path without its last component; "/" for "/a"; empty for "/".
std::string_view parent_of(std::string_view path);

/// @returns what follows the last slash.
std::string_view last_component(std::string_view path);

/// @returns the nodes above `path` without the root, in the order in which they are created: "/a", "/a/b" for "/a/b/c".
std::vector<std::string> ancestors(std::string_view path);

}  // namespace latchkey::detail
