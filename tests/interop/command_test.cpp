// SPDX-License-Identifier: Apache-2.0
/// `latchkey run` in one queue with Curator and kazoo.

#include <csignal>
#include <cstdint>
#include <optional>
#include <string>

#include <doctest/doctest.h>
#include <latchkey/testing/child_process.hpp>

#include "mixed.hpp"

namespace latchkey::testing {
namespace {

/// A run that holds the lock until it is ended.
class holding_run {
 public:
  explicit holding_run(const std::string& path) {
    child_.start({LATCHKEY_COMMAND, "run", "-c", servers().connect_string(), "-T", "4s", "--path", path, "--", "sh",
                  "-c", "echo holds; exec sleep 1000"});
  }
  bool holds() { return child_.hear(patience()) == "holds"; }
  std::optional<std::string> end(int signal) {
    child_.signal(signal);
    return child_.wait(patience());
  }

 private:
  child_process child_;
};

}  // namespace

TEST_SUITE("command") {
  TEST_CASE("a run, Curator's InterProcessMutex and kazoo's Lock exclude one another, also after a kill") {
    for (auto* const where : {&curator, &kazoo}) {
      const auto path = fresh_path();
      contender_there theirs{(*where)(), fresh_name("mutex")};
      holding_run first{path};
      REQUIRE(first.holds());
      CHECK_FALSE(theirs.try_take("mutex", path));
      theirs.queue_up("mutex", path);
      REQUIRE(queued(path, 2));
      CHECK_FALSE(theirs.answered());
      CHECK(first.end(SIGTERM) == "exit code 143");
      CHECK(theirs.granted() > 0);
      child_process late;
      late.start({LATCHKEY_COMMAND, "run", "-n", "-c", servers().connect_string(), "--path", path, "--", "true"});
      CHECK(late.wait(patience()) == "exit code 1");
      holding_run second{path};
      REQUIRE(queued(path, 2));
      theirs.release();
      REQUIRE(second.holds());
      theirs.queue_up("mutex", path);
      REQUIRE(queued(path, 2));
      CHECK(second.end(SIGKILL) == "signal 9");
      CHECK(theirs.granted() > 0);
      theirs.release();
      CHECK(queued(path, 0));
    }
  }
}

}  // namespace latchkey::testing
