// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Names of hosts to addresses. The C client would ask the name server again and again, on its only IO thread (HAZARDS
/// 2, 4).

#include <sys/socket.h>

#include <random>
#include <string>
#include <vector>

namespace latchkey::detail {

/// Asks the name servers. Blocks, for many seconds when they do not answer: on helper threads only.
/// @param hosts "name:port", "1.2.3.4:port" or "[::1]:port"
/// @param failure names the hosts that do not resolve, and says why; empty when all do
/// @returns each address once, numeric, as the C client reads it: "1.2.3.4:2181", "::1:2181" (no brackets: it takes
/// what follows the last colon for the port). Empty when no host resolves.
std::vector<std::string> resolve(const std::vector<std::string>& hosts, std::string& failure);

/// @returns whether no name server is needed for any of the hosts.
bool are_addresses(const std::vector<std::string>& hosts);

/// @returns the address as `resolve` does; empty when it is none of a family that it knows.
std::string to_text(const sockaddr* address, socklen_t size);

/// @returns the addresses in random order with commas, an odd number of them: with an even one the C client tries only
/// every second when it reconnects (ZOOKEEPER-2466), so one of them comes twice. @pre not empty
std::string to_server_list(std::vector<std::string> addresses, std::minstd_rand& random);

}  // namespace latchkey::detail
