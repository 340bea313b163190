// SPDX-License-Identifier: Apache-2.0
/// A Redis server that restarts.

#include <optional>
#include <string>

#include <doctest/doctest.h>

#include "../../examples/fencing/redis_fence.hpp"
#include "servers.hpp"

namespace latchkey::testing {
namespace {

redis_server& server() {
  static redis_server one{true};
  return one;
}

class redis_hash {
 public:
  struct connection {
    fencing::redis in{server().socket()};

    std::optional<std::string> read(fencing_token token) { return in.read("item", token); }
    bool write(fencing_token token, const std::string& value) { return in.write("item", token, value); }
    std::string peek() { return in.run({"HGET", "item", "value"}).value_or(""); }
    std::string largest() { return in.run({"HGET", "item", "fence"}).value_or(""); }
    void overwrite(const std::string& value) { in.run({"HSET", "item", "value", value}); }
  };
  redis_hash() { connect().in.run({"DEL", "item"}); }
  connection connect() { return {}; }
};

}  // namespace

TEST_SUITE("redis") {
  TEST_CASE("a server that has fences on its disk knows them after a crash; one without lets a former holder pass") {
    for (const bool remembers : {true, false}) {
      CAPTURE(remembers);
      redis_server own{remembers};
      CHECK(fencing::redis{own.socket()}.write("a", {34, 0}, "new"));
      own.kill_and_start();
      fencing::redis former{own.socket()};
      CHECK(former.write("a", {33, 0}, "old") == !remembers);
      CHECK(former.run({"HGET", "a", "value"}) == (remembers ? "new" : "old"));
    }
  }
}

}  // namespace latchkey::testing

#define LATCHKEY_STORES redis_hash
#include "store_suite.hpp"
