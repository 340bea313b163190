// SPDX-License-Identifier: Apache-2.0
#pragma once
// A loopback port that no other process gets while we may still want to listen on it.

#include <cstdint>

#include "unique_fd.hpp"

namespace latchkey::testing::detail {

/// Holds a socket bound to a free port of 127.0.0.1 that does not listen. The kernel gives the port neither to an
/// outgoing connection nor to bind(0); only a listener that names it, with SO_REUSEADDR, gets it: a server of ours
/// (Java sets that by default), again and again.
class reserved_port {
 public:
  /// @param wanted  0: one that is free
  /// @throws cluster_error  there is no free port, or this one is taken
  explicit reserved_port(std::uint16_t wanted = 0);
  [[nodiscard]] std::uint16_t number() const noexcept { return number_; }

 private:
  unique_fd socket_;
  std::uint16_t number_ = 0;
};

}  // namespace latchkey::testing::detail
