// SPDX-License-Identifier: Apache-2.0
#include "base/connect_string.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <vector>

#include <latchkey/error.hpp>

using namespace latchkey::detail;
using hosts = std::vector<std::string>;

TEST_SUITE_BEGIN("connect string");

TEST_CASE("hosts and chroot are told apart") {
  const auto parsed = parse_connect_string("zk1:2181,zk2:2182,10.0.0.3:2183/billing/eu");
  CHECK(parsed.hosts == hosts{"zk1:2181", "zk2:2182", "10.0.0.3:2183"});
  CHECK(parsed.chroot == "/billing/eu");
}

TEST_CASE("a port that is left out is 2181") {
  CHECK(parse_connect_string("zk1,[::1],zk_3.example.org").hosts ==
        hosts{"zk1:2181", "[::1]:2181", "zk_3.example.org:2181"});
}

TEST_CASE("IPv6 addresses stand in brackets") {
  CHECK(parse_connect_string("[::1]:2181,[fe80::1%eth0]:2182/a").hosts == hosts{"[::1]:2181", "[fe80::1%eth0]:2182"});
}

TEST_CASE("spaces around hosts do not matter") {
  const auto parsed = parse_connect_string(" zk1:2181, zk2:2181 ,\tzk3 /a ");
  CHECK(parsed.hosts == hosts{"zk1:2181", "zk2:2181", "zk3:2181"});
  CHECK(parsed.chroot == "/a");
}

TEST_CASE("a space between hosts is named, and what to write in its place") {
  for (const auto* text : {"zk1 zk2", "zk1:2181 zk2:2181", "[::1]:2181 [::2]:2181", "zk1,zk2 zk3/a"}) {
    CHECK_THROWS_WITH_AS(parse_connect_string(text), doctest::Contains("put a comma between two hosts"),
                         latchkey::error);
  }
}

TEST_CASE("without a chroot, or with only a slash, there is none") {
  CHECK(parse_connect_string("zk1").chroot.empty());
  CHECK(parse_connect_string("zk1/").chroot.empty());
}

TEST_CASE("what others write is refused with a hint") {
  const auto hint = [](const char* text) {
    try {
      parse_connect_string(text);
    } catch (const latchkey::error& refused) {
      return std::string{refused.what()};
    }
    return std::string{};
  };
  CHECK(hint("::1:2181").find("write an IPv6 address in brackets") != std::string::npos);
  CHECK(hint("a;b").find("put a comma between two hosts") != std::string::npos);
  CHECK(hint("zk://a:2181").find("has a scheme; leave it out") != std::string::npos);
  CHECK(hint("/a").find("has no host before the chroot") != std::string::npos);
  CHECK(hint("2181").find("has only a number for a host") != std::string::npos);
}

TEST_CASE("what cannot be read is refused") {
  for (const auto* text : {"",
                           "  ",
                           "/",
                           "/a",
                           ",",
                           "zk1,",
                           ",zk1",
                           "zk1,,zk2",
                           ":2181",
                           "zk1:",
                           "zk1:0",
                           "zk1:65536",
                           "zk1:x",
                           "zk1:2181x",
                           "zk1:+1",
                           "zk1: 2181",
                           "zk 1",
                           "zk1;zk2",
                           "2181",
                           "zk1,2181:2181",
                           "zk1:2181:2182",
                           "::1",
                           "::1:2181",
                           "zk://zk1:2181",
                           "[::1",
                           "[]",
                           "[zk1]:2181",
                           "[::1]2181",
                           "[::1]:",
                           "zk1/a/",
                           "zk1//a",
                           "zk1/a/../b",
                           "zk1/zookeeper",
                           "zk1/a,zk2/a",
                           "zk://zk1:2181/a",
                           "z\xc3\xbcrich:2181"}) {
    CAPTURE(text);
    CHECK_THROWS_AS(parse_connect_string(text), latchkey::error);
  }
}

TEST_CASE("the error says what is wrong, and where") {
  try {
    parse_connect_string("zk1:2181,zk2:port/a");
    FAIL("did not throw");
  } catch (const latchkey::error& e) {
    CHECK((e.code() == latchkey::errc::bad_connect_string));
    CHECK(std::string{e.what()}.find("\"port\" for the port of \"zk2:port\"") != std::string::npos);
  }
}

TEST_CASE("what is refused is shown on one line, and without a user and a password") {
  using namespace std::string_literals;
  const auto message = [](const std::string& text) -> std::string {
    try {
      parse_connect_string(text);
    } catch (const latchkey::error& e) {
      return e.what();
    }
    return {};
  };
  for (const auto* text :
       {"alice:secret@zk1:2181", "zk1,alice:secret@zk2", "zk://alice:secret@zk1:2181/a", "alice:sec/ret@zk1:2181",
        "alice:s,ecret@zk1:2181", "alice:secret@", "alice:se@cret@zk1:2181/a"}) {
    CAPTURE(text);
    const auto what = message(text);
    CHECK(what.find("\"...@") != std::string::npos);
    CHECK(what.find("client_options::authentication") != std::string::npos);
    for (const auto* part : {"alice", "secret", "sec", "ret", "ecret", "cret"}) CHECK(what.find(part) == what.npos);
  }
  for (const auto* text : {"alice:secret%40zk1:2181", "zk1:2181;user=alice;password=secret", "zk1:2181?password=secret",
                           "zk1:2181 password=secret", "zk1,[::1]:2181#secret", "zk1?key=sec/secret"}) {
    CAPTURE(text);
    CHECK(message(text) != "");
    CHECK(message(text).find("secret") == std::string::npos);
  }
  CHECK(parse_connect_string("zk1:2181/a@b").chroot == "/a@b");
  for (const auto& text :
       {"zk1\n:2181"s, "zk1:2181\r\nERROR all is lost"s, "zk\0:2181"s, "zk1:\x1b[2J"s, "zk1/a\nb"s}) {
    const auto what = message(text);
    CAPTURE(what);
    CHECK_FALSE(what.empty());
    CHECK(std::all_of(what.begin(), what.end(), [](unsigned char each) { return each >= 0x20 && each != 0x7f; }));
  }
  CHECK(message("zk;" + std::string(1'000'000, 'x')).size() < 3000);
}

TEST_SUITE_END();
