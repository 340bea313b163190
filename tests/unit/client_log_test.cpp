// SPDX-License-Identifier: Apache-2.0
#include "bridge/client_log.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "base/escape.hpp"
#include "base/log.hpp"
#include "log_lines.hpp"

using namespace latchkey::detail;
using namespace std::chrono_literals;
using latchkey::log_level;
using latchkey::testing::log_lines;
using lines_of = std::vector<std::string>;

TEST_SUITE_BEGIN("log");

TEST_CASE("lines of the C client come apart into level, place and text") {
  const auto [level, place, text] = parse_client_log(
      "2024-05-01 12:00:00,000:4711(0x7f00):ZOO_WARN@zookeeper_interest@2597: Delaying: all servers\n");
  CHECK(level == log_level::debug);
  CHECK(place == "zookeeper_interest@2597");
  CHECK(text == "Delaying: all servers");
  CHECK(parse_client_log("x:1(0x1):ZOO_ERROR@f@1: y").level == log_level::warning);
  CHECK(parse_client_log("x:1(0x1):ZOO_INFO@f@1: y").level == log_level::debug);
  CHECK(parse_client_log("x:1(0x1):ZOO_DEBUG@f@1: y").level == log_level::debug);
}

TEST_CASE("a server that closes a connection is told from one that refuses it, and from one that is silent") {
  CHECK(
      says_closed_by_server("Socket 127.0.0.1:1 zk retcode=-4, errno=104(Connection reset by peer): failed while "
                            "receiving a server response"));
  CHECK_FALSE(says_closed_by_server(
      "Socket 127.0.0.1:1 zk retcode=-4, errno=111(Connection refused): server refused to accept the client"));
  CHECK_FALSE(says_closed_by_server(
      "Socket 127.0.0.1:1 zk retcode=-7, errno=110(Connection timed out): connection to 127.0.0.1:1 timed out"));
  CHECK_FALSE(says_closed_by_server("failed while receiving a server response"));
  CHECK(server_in("Socket [::1]:80 zk retcode=-4, errno=104(Connection reset by peer): failed") == "::1:80");
}

TEST_CASE("what the C client says of its attempts to connect is for those who look for it") {
  const auto line = parse_client_log(
      "x:1(0x1):ZOO_ERROR@f@1801: Socket 127.0.0.1:1 zk retcode=-4, errno=111(Connection refused): server refused to "
      "accept the client");
  CHECK(line.level == log_level::debug);
  CHECK(line.text.starts_with("Socket 127.0.0.1:1"));
}

TEST_CASE("a line of another form is a warning as it stands") {
  CHECK(parse_client_log("something else").level == log_level::warning);
  CHECK(parse_client_log("something else").text == "something else");
  CHECK(parse_client_log("").text == "");
}

TEST_CASE("of the lines of one place in the C client, one a minute passes, with the number of those that have not") {
  client_log_limiter limiter;
  time_point now{1h};
  CHECK(limiter.pass("f@1", now) == 0);
  for (int i = 0; i < 24; ++i) CHECK_FALSE(limiter.pass("f@1", now += 1s));
  CHECK(limiter.pass("f@2", now) == 0);
  CHECK(limiter.pass("f@1", now += 1min) == 24);
  CHECK_FALSE(limiter.pass("f@1", now += 59s));
  CHECK(limiter.pass("f@1", now += 1s) == 1);
}

TEST_CASE("lines reach the sink, and nothing when there is none") {
  latchkey::set_log_sink({});
  CHECK_FALSE(log_enabled(log_level::error));
  log(log_level::error, "nobody hears this");
  std::vector<std::pair<log_level, std::string>> lines;
  latchkey::set_log_sink([&](log_level level, std::string_view line) { lines.emplace_back(level, line); });
  CHECK(log_enabled(log_level::debug));
  log(log_level::info, "a line");
  for (int i = 0; i < 3; ++i) take_client_log("t:1(0x1):ZOO_ERROR@lines_reach@1: te\x01xt");
  latchkey::set_log_sink({});
  CHECK_FALSE(log_enabled(log_level::error));
  log(log_level::error, "nor this");
  CHECK(lines == std::vector<std::pair<log_level, std::string>>{{log_level::info, "a line"},
                                                                {log_level::warning, "the C client says: te\\x01xt"}});
}

TEST_CASE("each handle is told of its own failed connections, as many handles as there are callbacks") {
  const auto* const failed =
      "t:1(0x1):ZOO_ERROR@handle_socket_error_msg@1: Socket 127.0.0.1:1 zk retcode=-4, errno=111";
  std::vector<int> told(handle_log::most + 1);
  std::vector<std::unique_ptr<handle_log>> logs;
  for (auto& each : told) logs.push_back(std::make_unique<handle_log>([&each](std::string_view) { ++each; }));
  CHECK((logs.back()->function() == &take_client_log));
  const auto second = logs[1]->function();
  second(failed);
  second("t:1(0x1):ZOO_ERROR@resolve_hosts@1: getaddrinfo: no memory");
  second(nullptr);
  CHECK(told[1] == 1);
  CHECK(std::count(told.begin(), told.end(), 0) == std::ptrdiff_t{handle_log::most});
  logs[1].reset();
  second(failed);
  CHECK(told[1] == 1);
  const handle_log next{[&](std::string_view) { ++told[0]; }};
  CHECK((next.function() == second));
}

TEST_CASE("fields come at the end, quoted where they must be; an empty one does not come") {
  const log_lines lines{log_level::debug};
  log(log_level::info, "it happened",
      {{"path", "/a"}, {"held_ms", 1234567us}, {"count", 3}, {"none", ""}, {"reason", "node deleted"}});
  log(log_level::info, "hostile", {{"label", "a\n2024 error=\"x\"\x1b[2J\\"}});
  CHECK(lines.all() == lines_of{"it happened path=/a held_ms=1234 count=3 reason=\"node deleted\"",
                                "hostile label=\"a\\x0a2024 error=\\\"x\\\"\\x1b[2J\\\\\""});
}

TEST_CASE("nothing that is escaped leaves its line") {
  std::string all;
  for (int i = 0; i < 256; ++i) all.push_back(static_cast<char>(i));
  const auto safe = escaped(all);
  CHECK(std::none_of(safe.begin(), safe.end(), [](char each) {
    const auto code = static_cast<unsigned char>(each);
    return code < 0x20 || code == 0x7f;
  }));
  CHECK(escaped("/locks/größe/€/🔑") == "/locks/größe/€/🔑");
  CHECK(escaped("a\xc2\x9b"
                "b\xe2\x80\xa8"
                "c\x9b\xff\xc3") == R"(a\xc2\x9bb\xe2\x80\xa8c\x9b\xff\xc3)");
}

TEST_CASE("what a sink throws goes no further") {
  latchkey::set_log_sink([](log_level, std::string_view) { throw std::runtime_error{"full"}; });
  log(log_level::info, "a line");
  log(log_level::info, "a line", {{"with", "a field"}});
  latchkey::set_log_sink({});
}

TEST_SUITE_END();
