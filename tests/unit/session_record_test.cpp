// SPDX-License-Identifier: Apache-2.0
#include "session/session_record.hpp"

#include <algorithm>

#include <doctest/doctest.h>

using namespace latchkey::detail;

namespace {

const process_mark owner{.pid = 812, .start = 4711, .boot = "b1", .pid_namespace = "pid:[4026531836]"};
const recorded_session first{.id = 0x1000a2,
                             .password = {"\0\1\xff pass", 8},
                             .timeout = std::chrono::seconds{10},
                             .servers = "zk1:2181,[::1]:2182"};
const recorded_session second{.id = -0x7fffffffffffff00,
                              .password = std::string(16, '\x80'),
                              .timeout = std::chrono::seconds{4},
                              .servers = "zk\"{\\1:2181"};

}  // namespace

TEST_SUITE_BEGIN("session records");

TEST_CASE("what is written is read") {
  const auto all = read_session_records(line_of(owner) + line_of(first) + line_of(second));
  CHECK(all.owner == owner);
  CHECK(all.sessions == std::vector{first, second});
  CHECK_FALSE(all.is_foreign);
}

TEST_CASE("of a part of it, whole lines are read") {
  const auto text = line_of(owner) + line_of(first) + line_of(second);
  const auto of_owner = line_of(owner).size();
  const auto of_first = of_owner + line_of(first).size();
  for (std::size_t size = 0; size <= text.size(); ++size) {
    CAPTURE(size);
    const auto all = read_session_records(text.substr(0, size));
    CHECK(all.owner.pid == (size >= of_owner ? 812 : 0));
    REQUIRE(all.sessions.size() == (size == text.size() ? 2u : size >= of_first ? 1u : 0u));
    CHECK_FALSE(all.is_foreign);
  }
}

TEST_CASE("any other byte anywhere makes no session that was not written") {
  const auto text = line_of(owner) + line_of(first) + line_of(second);
  for (std::size_t at = 0; at < text.size(); ++at) {
    for (const int flip : {1, 2, 0x20, 0x80, 0xff}) {
      auto damaged = text;
      damaged[at] = static_cast<char>(damaged[at] ^ flip);
      const auto all = read_session_records(damaged);
      const bool known = std::all_of(all.sessions.begin(), all.sessions.end(),
                                     [](const auto& each) { return each == first || each == second; });
      REQUIRE_MESSAGE(known, "byte " << at << " ^ " << flip);
      REQUIRE((all.owner == owner || all.owner == process_mark{}));
    }
  }
}

TEST_CASE("what a shorter text has left of a longer one says nothing new") {
  const auto before = line_of(owner) + line_of(second) + line_of(first);
  const auto after = line_of(owner) + line_of(first);
  const auto all = read_session_records(after + before.substr(after.size()));
  CHECK(all.sessions.front() == first);
  CHECK(std::all_of(all.sessions.begin(), all.sessions.end(), [](const auto& each) { return each == first; }));
}

TEST_CASE("of two files in one, the sessions are those of the first process") {
  auto other = owner;
  other.pid = 813;
  const auto all = read_session_records(line_of(owner) + line_of(first) + line_of(other) + line_of(second));
  CHECK(all.owner == owner);
  CHECK(all.sessions == std::vector{first});
}

TEST_CASE("a file that is not ours is told from a damaged one") {
  for (const auto* foreign : {"connect=zk1:2181\n", "{\"name\":\"x\"}\n", "\n", "#!/bin/sh\n"})
    CHECK(read_session_records(foreign).is_foreign);
  for (const auto& own : {std::string{}, std::string(4096, '\0'), std::string{"{\"latch"}, line_of(owner).substr(0, 40),
                          "?" + line_of(first).substr(1) + line_of(second)})
    CHECK_FALSE(read_session_records(own).is_foreign);
}

TEST_SUITE_END();
