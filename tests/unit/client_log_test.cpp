// SPDX-License-Identifier: Apache-2.0
#include "bridge/client_log.hpp"

#include <doctest/doctest.h>

#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "base/log.hpp"

using namespace latchkey::detail;
using latchkey::log_level;

TEST_SUITE_BEGIN("log");

TEST_CASE("lines of the C client come apart into level and text") {
  const auto [level, text] = parse_client_log(
      "2024-05-01 12:00:00,000:4711(0x7f00):ZOO_WARN@zookeeper_interest@2597: Delaying: all servers\n");
  CHECK(level == log_level::warning);
  CHECK(text == "Delaying: all servers");
  CHECK(parse_client_log("x:1(0x1):ZOO_ERROR@f@1: y").level == log_level::error);
  CHECK(parse_client_log("x:1(0x1):ZOO_INFO@f@1: y").level == log_level::info);
  CHECK(parse_client_log("x:1(0x1):ZOO_DEBUG@f@1: y").level == log_level::debug);
}

TEST_CASE("a line of another form is a warning as it stands") {
  CHECK(parse_client_log("something else").level == log_level::warning);
  CHECK(parse_client_log("something else").text == "something else");
  CHECK(parse_client_log("").text == "");
}

TEST_CASE("lines reach the sink, and nothing when there is none") {
  std::vector<std::pair<log_level, std::string>> lines;
  log(log_level::error, "nobody hears this");
  latchkey::set_log_sink([&](log_level level, std::string_view line) { lines.emplace_back(level, line); });
  CHECK(log_enabled());
  log(log_level::info, "a line");
  take_client_log("t:1(0x1):ZOO_ERROR@f@1: text");
  latchkey::set_log_sink({});
  CHECK_FALSE(log_enabled());
  log(log_level::error, "nor this");
  CHECK(lines == std::vector<std::pair<log_level, std::string>>{{log_level::info, "a line"},
                                                                {log_level::error, "zookeeper: text"}});
}

TEST_CASE("what a sink throws goes no further") {
  latchkey::set_log_sink([](log_level, std::string_view) { throw std::runtime_error{"full"}; });
  log(log_level::info, "a line");
  latchkey::set_log_sink({});
}

TEST_SUITE_END();
