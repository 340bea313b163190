// SPDX-License-Identifier: Apache-2.0
/// The end of a process that still has a client, and its forked children.

#include <chrono>
#include <string>

#include <doctest/doctest.h>

#include <latchkey/testing/child_process.hpp>

#include "support/support.hpp"

namespace latchkey::testing {
namespace {

using namespace std::chrono_literals;

constexpr auto time_to_end = 60s;

/// @returns how a process has ended.
std::string end_of(const child_process& one) { return one.wait(time_to_end).value_or("it has not ended"); }

/// @returns how a process has ended that was to end in one of its ways.
std::string end_by(const std::string& how, const std::string& path) {
  const child_process process{{EXITING_PROCESS, servers().connect_string(), path, how}};
  return end_of(process);
}

}  // namespace

TEST_SUITE("process") {
  TEST_CASE("a client that is a static object closes at exit, and leaves nothing") {
    for (const auto* how : {"global client", "local static", "holding", "never waited", "used by another thread",
                            "in an observer", "locking static"}) {
      CAPTURE(std::string{how});
      const auto path = fresh_path();
      CHECK(end_by(how, path) == "exit code 0");
      CHECK(queue_at(path).empty());
    }
  }

  TEST_CASE("it does so when another thread than main exits, while main waits for a lock") {
    for (const auto* how : {"exit beside a waiter", "exit beside a waiter, after fibers"}) {
      CAPTURE(std::string{how});
      const auto path = fresh_path();
      CHECK(end_by(how, path) == "exit code 0");
      CHECK(queue_at(path).size() == 1);  // the holder's, whose client is never closed
    }
  }

  TEST_CASE("a signal handler that requests a stop ends the wait of the thread that it interrupts") {
    for (int i = 0; i < 10; ++i) {
      const auto path = fresh_path();
      REQUIRE(end_by("stopped by signal", path) == "exit code 0");
      CHECK(queue_at(path).size() == 1);  // the holder's, whose client is never closed
    }
  }

  TEST_CASE("destructors of thread-locals may take a lock") {
    const auto path = fresh_path();
    CHECK(end_by("thread locals", path) == "exit code 0");
  }

#ifndef LATCHKEY_WITHOUT_FIBERS
  TEST_CASE("detached fibers take and release locks when the function of their thread has returned") {
    const auto path = fresh_path();
    CHECK(end_by("detached fibers", path) == "exit code 0");
  }
#endif

  TEST_CASE("an exception in an observer ends the process, and the log says which") {
    const auto path = fresh_path();
    child_process process{{EXITING_PROCESS, servers().connect_string(), path, "throwing observer"}};
    const auto line = process.hear(time_to_end).value_or("");
    CAPTURE(line);
    CHECK(line.find("observer") != std::string::npos);
    CHECK(line.find("event=\"asked to release\" path=" + path) != std::string::npos);
    CHECK(line.find("a bad day") != std::string::npos);
    CHECK(end_of(process) == "signal 6");
  }

  TEST_CASE("so does one in a callback of a leader_view") {
    const auto path = fresh_path();
    child_process process{{EXITING_PROCESS, servers().connect_string(), path, "throwing leader view"}};
    const auto line = process.hear(time_to_end).value_or("");
    CAPTURE(line);
    CHECK(line.find("leader_view") != std::string::npos);
    CHECK(line.find("path=" + path + " exception=\"a bad day\"") != std::string::npos);
    CHECK(end_of(process) == "signal 6");
  }

  TEST_CASE("one in a stop callback of a grant ends it without a log line") {
    child_process process{{EXITING_PROCESS, servers().connect_string(), fresh_path(), "throwing stop callback"}};
    CHECK(process.hear(time_to_end) == std::nullopt);
    CHECK(end_of(process) == "signal 6");
  }

  TEST_CASE("in a forked child nothing is held, every call says so, and the parent notices nothing") {
    child_process process{{FORKING_PROCESS, servers().connect_string(), fresh_path()}};
    std::string said;
    while (const auto line = process.hear(time_to_end)) said += *line + '\n';
    CHECK(said == "");
    CHECK(end_of(process) == "exit code 0");
  }
}

}  // namespace latchkey::testing
