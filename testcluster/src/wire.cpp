// SPDX-License-Identifier: Apache-2.0
#include "latchkey/testing/wire.hpp"

#include <cstddef>

namespace latchkey::testing {

namespace {

/// java.util.Random, which ZooKeeperServer.generatePasswd uses.
class java_random {
 public:
  explicit java_random(std::uint64_t seed) : seed_((seed ^ multiplier) & mask) {}

  std::uint32_t next() {
    seed_ = (seed_ * multiplier + 0xBU) & mask;
    return static_cast<std::uint32_t>(seed_ >> 16U);
  }

 private:
  static constexpr std::uint64_t multiplier = 0x5DEECE66DU;
  static constexpr std::uint64_t mask = (std::uint64_t{1} << 48U) - 1;
  std::uint64_t seed_;
};

}  // namespace

session_credentials credentials_of(std::int64_t id) {
  constexpr std::uint64_t super_secret = 0xB3415C00U;  // a constant in ZooKeeperServer.java
  java_random random{static_cast<std::uint64_t>(id) ^ super_secret};
  session_credentials result{id, {}};
  for (std::size_t i = 0; i < result.password.size();) {
    auto bits = random.next();
    for (int n = 0; n < 4; ++n, bits >>= 8U) result.password[i++] = static_cast<char>(bits & 0xffU);
  }
  return result;
}

std::string to_string(opcode operation) {
  switch (operation) {
    case opcode::notification:
      return "notification";
    case opcode::create:
      return "create";
    case opcode::remove:
      return "delete";
    case opcode::exists:
      return "exists";
    case opcode::get_data:
      return "getData";
    case opcode::set_data:
      return "setData";
    case opcode::get_acl:
      return "getACL";
    case opcode::set_acl:
      return "setACL";
    case opcode::get_children:
      return "getChildren";
    case opcode::sync:
      return "sync";
    case opcode::ping:
      return "ping";
    case opcode::get_children2:
      return "getChildren2";
    case opcode::check:
      return "check";
    case opcode::multi:
      return "multi";
    case opcode::create2:
      return "create2";
    case opcode::reconfig:
      return "reconfig";
    case opcode::check_watches:
      return "checkWatches";
    case opcode::remove_watches:
      return "removeWatches";
    case opcode::create_container:
      return "createContainer";
    case opcode::delete_container:
      return "deleteContainer";
    case opcode::create_ttl:
      return "createTTL";
    case opcode::multi_read:
      return "multiRead";
    case opcode::auth:
      return "auth";
    case opcode::set_watches:
      return "setWatches";
    case opcode::sasl:
      return "sasl";
    case opcode::set_watches2:
      return "setWatches2";
    case opcode::add_watch:
      return "addWatch";
    case opcode::create_session:
      return "createSession";
    case opcode::close_session:
      return "closeSession";
  }
  return "opcode " + std::to_string(static_cast<std::int32_t>(operation));
}

}  // namespace latchkey::testing
