// SPDX-License-Identifier: Apache-2.0
#pragma once

/// What the C client hands to a completion or a watch, copied. It passes on what a server has sent without looking at it.

#include <string>
#include <vector>

#include "bridge/znodes.hpp"

#include <zookeeper/zookeeper.h>

namespace latchkey::detail {

/// @returns false, and no names, when the list is none that a server sends: without entries, or with a count that they
/// do not bear out. A part of a list must not be taken for all of it: a lock would be granted twice.
bool copy_names(const String_vector* names, std::vector<std::string>& to);

/// Copies the first `most` bytes of the data of a node, and the size of all of it.
void copy_data(const char* value, int size, std::size_t most, reply& to);

/// @returns letters of "cdrwa": what the ACL lets any client do.
std::string permissions_of_anyone(const ACL_vector* acl);

node_stat to_stat(const Stat* stat) noexcept;

/// @param type of the event of a watch
watch_event to_watch_event(int type) noexcept;

}  // namespace latchkey::detail
