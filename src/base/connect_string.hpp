// SPDX-License-Identifier: Apache-2.0
#pragma once

/// The connect string of ZooKeeper.

#include <string>
#include <string_view>
#include <vector>

namespace latchkey::detail {

struct connect_string {
  std::vector<std::string> hosts;  ///< "name:port", "1.2.3.4:port", "[::1]:port"; at least one
  std::string chroot;              ///< a valid path, or empty

  /// @returns the hosts, as in a connect string.
  std::string list() const;
};

/// Reads "host:port,host:port/chroot". The port is 2181 where it is left out; spaces around a host do not matter.
/// The chroot is for latchkey to put before its paths: the C client does not get it (HAZARDS 16).
/// @throws error bad_connect_string, with what is wrong and where
connect_string parse_connect_string(std::string_view text);

}  // namespace latchkey::detail
