// SPDX-License-Identifier: Apache-2.0
/// The end of a process that still has a client, and its forked children.

#include <sys/wait.h>

#include <csignal>
#include <string>

#include <doctest/doctest.h>

#include "support/child.hpp"
#include "support/support.hpp"

namespace latchkey::testing {
namespace {

/// Ends a process in one of its ways. @returns whether it has exited with 0.
bool exits_well(const std::string& how, const std::string& path) {
  child process{EXITING_PROCESS, {servers().connect_string(), path, how}};
  if (!eventually([&] { return !process.running(); })) return false;
  CAPTURE(process.status());
  CHECK(WIFEXITED(process.status()));
  return WIFEXITED(process.status()) && WEXITSTATUS(process.status()) == 0;
}

}  // namespace

TEST_SUITE("process") {
  TEST_CASE("a client that is a static object closes at exit, and leaves nothing") {
    for (const auto* how : {"global client", "local static", "holding", "never waited", "used by another thread",
                            "in an observer", "locking static"}) {
      CAPTURE(std::string{how});
      const auto path = fresh_path();
      CHECK(exits_well(how, path));
      CHECK(queue_at(path).empty());
    }
  }

  TEST_CASE("it does so when another thread than main exits, while main waits for a lock") {
    for (const auto* how : {"exit beside a waiter", "exit beside a waiter, after fibers"}) {
      CAPTURE(std::string{how});
      const auto path = fresh_path();
      CHECK(exits_well(how, path));
      CHECK(queue_at(path).size() == 1);  // the holder's, whose client is never closed
    }
  }

  TEST_CASE("destructors of thread-locals may take a lock") {
    const auto path = fresh_path();
    CHECK(exits_well("thread locals", path));
  }

  TEST_CASE("an exception in an observer ends the process, and the log says which") {
    const auto path = fresh_path();
    child process{EXITING_PROCESS, {servers().connect_string(), path, "throwing observer"}};
    const auto line = process.read_line();
    CAPTURE(line);
    CHECK(line.find("observer") != std::string::npos);
    CHECK(line.find("\"asked to release\" of " + path) != std::string::npos);
    CHECK(line.find("a bad day") != std::string::npos);
    REQUIRE(eventually([&] { return !process.running(); }));
    CHECK(WIFSIGNALED(process.status()));
    CHECK(WTERMSIG(process.status()) == SIGABRT);
  }

  TEST_CASE("in a forked child nothing is held, every call says so, and the parent notices nothing") {
    child process{FORKING_PROCESS, {servers().connect_string(), fresh_path()}};
    std::string said;
    for (std::string line; !(line = process.read_line()).empty();) said += line + '\n';
    CHECK(said == "");
    REQUIRE(eventually([&] { return !process.running(); }));
    CHECK(process.status() == 0);
  }
}

}  // namespace latchkey::testing
