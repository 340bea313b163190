// SPDX-License-Identifier: Apache-2.0
/// What an HTTP server answers to tokens, and what it knows after a restart.

#include <chrono>
#include <string>

#include <doctest/doctest.h>

#include "http_server.hpp"
#include "tokens.hpp"

namespace latchkey::testing {
TEST_SUITE("http") {
  TEST_CASE("a refused request is answered with 412 and the largest token") {
    fencing::disk data;
    http_server server{data};
    http_item item{server.port(), "a"};
    CHECK(item.put(header_of(newer), "new").status == 204);
    const auto refused = item.put(header_of(older), "old");
    CHECK(refused.status == 412);
    CHECK(refused.get_header_value("Fencing-Token") == to_string(newer));
    CHECK(item.get(header_of(older)).status == 412);
    CHECK(item.get(header_of(newer)).get_header_value("Cache-Control") == "no-store");
    CHECK(http_item{server.port(), "b"}.put(header_of(older), "another item").status == 204);
  }

  TEST_CASE("a write without a token, or with something else, is refused") {
    fencing::disk data;
    http_server server{data};
    http_item item{server.port(), "a"};
    CHECK(item.put({}, "value").status == 428);
    CHECK(item.put({{"Fencing-Token", "34"}}, "value").status == 400);
    CHECK(item.put(header_of({}), "value").status == 412);
    CHECK(item.peek().empty());
  }

  TEST_CASE("a server that keeps its fences refuses after a restart what it refused before") {
    fencing::disk data;
    {
      http_server server{data};
      CHECK(http_item{server.port(), "a"}.write(newer, "new"));
    }
    http_server restarted{data};
    CHECK_FALSE(http_item{restarted.port(), "a"}.write(older, "old"));
    CHECK(http_item{restarted.port(), "a"}.peek() == "new");
  }

  TEST_CASE("a server that forgets its fences has to stay closed at first: what was delayed for longer still passes") {
    fencing::disk data;
    data.set_value("a", "new");  // written with the newer token, before the restart
    const auto now = fencing::http_resource::clock::now();
    {
      http_server closed{data, now + std::chrono::hours{1}};
      http_item item{closed.port(), "a"};
      CHECK(item.put(header_of(older), "old").status == 503);
      CHECK(item.peek() == "new");
    }
    http_server open{data, now};
    CHECK(http_item{open.port(), "a"}.write(older, "old"));
    CHECK(data.value("a") == "old");
  }
}

}  // namespace latchkey::testing
