// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Which server a handle is at.

#include <string>

#include <zookeeper/zookeeper.h>

namespace latchkey::detail {

/// Its socket is closed on exec from here on (HAZARDS 20).
/// @returns the address of the server it is connected to; empty when the connection has gone again.
std::string server_of(zhandle_t* handle);

/// @returns the address of what is no server (HAZARDS 36); empty when the handle has gone on to another one.
std::string foreign_server_of(zhandle_t* handle);

}  // namespace latchkey::detail
