// SPDX-License-Identifier: Apache-2.0
#include "session/peer_message.hpp"

#include <string>

#include <doctest/doctest.h>

namespace latchkey::detail {
namespace {

const peer_key key{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16};
const peer_key other_key{1};

const std::string ahead = "_c_0d97ff65-00f3-40a6-8949-a4a7caff850d-lock-0000000007";
const std::string behind = "_c_67c8aafc-932c-4892-a03a-6b7f75bfc6d1-lock-0000000008";

peer_message message(peer_message::verb what) { return {what, ahead, behind, {42}}; }

/// @returns whether it is understood and believed.
bool passes(std::string_view bytes) { return decode(bytes) && is_genuine(bytes, key); }

}  // namespace

TEST_SUITE("peer message") {
  TEST_CASE("what is written is read, and believed with its key only") {
    for (const auto what : {peer_message::verb::subscribe, peer_message::verb::noted, peer_message::verb::released}) {
      const auto bytes = encode(message(what), key);
      CHECK(bytes.size() <= 160);
      REQUIRE(decode(bytes));
      CHECK(*decode(bytes) == message(what));
      CHECK(is_genuine(bytes, key));
      CHECK_FALSE(is_genuine(bytes, other_key));
    }
    const auto longest = std::string(255, 'x');
    const auto bytes = encode({peer_message::verb::noted, longest, "", {}}, key);
    CHECK(decode(bytes)->ahead == longest);
    CHECK(decode(bytes)->behind.empty());
  }

  TEST_CASE("a message of which anything is cut off, added or changed does not pass") {
    const auto bytes = encode(message(peer_message::verb::released), key);
    REQUIRE(passes(bytes));
    for (std::size_t size = 0; size < bytes.size(); ++size) CHECK_FALSE(passes(bytes.substr(0, size)));
    CHECK_FALSE(passes(bytes + '\0'));
    for (std::size_t i = 0; i < bytes.size() * 8; ++i) {
      auto changed = bytes;
      changed[i / 8] = static_cast<char>(changed[i / 8] ^ (1 << i % 8));
      CHECK_FALSE(passes(changed));
    }
  }

  TEST_CASE("an advert stands in the record of an entry") {
    const peer_advert advert{"[fd00::1]:40123", key};
    const auto record = with_advert(R"({"label":"ann","pid":1})", advert);
    const auto found = read_advert(record);
    REQUIRE(found);
    CHECK(found->address == advert.address);
    CHECK(found->key == key);
    CHECK(record.find(R"("label":"ann")") != std::string::npos);
    CHECK(with_advert("__REVOKE__", advert) == "__REVOKE__");
  }

  TEST_CASE("what is no advert is none") {
    for (const auto* record : {"", "10.0.0.1", "[]", "{}", R"({"peer":"1.2.3.4:5"})", R"({"peer":1,"key":"x"})",
                               R"({"peer":"1.2.3.4:5","key":"AQIDBAUGBwgJCgsMDQ4P"})",
                               R"({"peer":"1.2.3.4:5","key":"AQIDBAUGBwgJCgsMDQ4PEBE"})",
                               R"({"peer":"1.2.3.4:5","key":"AQIDBAUGBwgJCgsMDQ4P*A"})"}) {
      CAPTURE(record);
      CHECK_FALSE(read_advert(record));
    }
  }
}

}  // namespace latchkey::detail
