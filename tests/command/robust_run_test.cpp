// SPDX-License-Identifier: Apache-2.0
/// `latchkey run --robust`: the next run is told of one that did not do its work.

#include <doctest/doctest.h>

#include <csignal>
#include <string>

#include <nlohmann/json.hpp>

#include <latchkey/queue_snapshot.hpp>

#include "run_program.hpp"

namespace latchkey::testing {
namespace {

using nlohmann::json;

const arguments robust{"-T", "4s", "--robust"};
const auto print = shell("printf %s \"$LATCHKEY_ABANDONED\"");

/// @returns what the next run is told, which does its work.
std::string told_at(const std::string& path) { return ended_run{run_at(path, robust, print)}.out; }

}  // namespace

TEST_SUITE("robust runs") {
  TEST_CASE("a run that ends with 0 is not told of, and leaves nothing") {
    const auto path = fresh_path();
    CHECK(ended_run{run_at(path, robust, {"true"})}.how == "exit code 0");
    CHECK(told_at(path).empty());
    CHECK(servers().children(path).empty());
  }

  TEST_CASE("one that ends otherwise is, until one has ended with 0, and so is one that is killed with its command") {
    const auto path = fresh_path();
    const auto fence = ended_run{run_at(path, robust, shell("printf %s $LATCHKEY_FENCE; exit 3"))}.out;
    const auto seen = json::parse(ended_run{{"status", "--json", "-c", servers().connect_string(), path}}.out);
    CHECK(fence.starts_with(seen["abandoned"]["fence"].get<std::string>()));  // then the line ends
    CHECK(ended_run{run_at(path, robust, {"false"})}.how == "exit code 1");
    const auto told = json::parse(told_at(path));
    CHECK(told["fence"] > fence);  // of the second, which failed, too
    CHECK(told["pid"].get<int>() > 0);
    CHECK_FALSE(told["host"].get<std::string>().empty());
    CHECK(told_at(path).empty());
    run killed{run_at(path, robust, shell("echo $LATCHKEY_FENCE; sleep 1000"))};
    const auto token = killed.hear();
    killed.signal(SIGKILL);
    killed.end();
    CHECK(json::parse(told_at(path))["fence"] == token);
    CHECK(told_at(path).empty());
  }

  TEST_CASE("who is kept out by a lock delay is told so") {
    const auto path = fresh_path();
    CHECK(ended_run{run_at(path, with(robust, {"--lock-delay", "1m"}), {"false"})}.how == "exit code 1");
    const ended_run next{run_at(path, with(robust, {"-n"}), {"echo", "ran"})};
    CHECK(next.how == "exit code 1");
    CHECK(next.out.empty());
    CHECK(has(next.err, "kept for the lock delay"));
    const ended_run same{run_at(path, with(robust, {"-n"}), {"false"})};  // nothing of the dead one is under way
    CHECK_FALSE(has(same.err, "kept for the lock delay"));
  }

  TEST_CASE("an interrupted run has not done its work") {
    const auto path = fresh_path();
    run first{run_at(path, robust, shell("echo in; sleep 1000"))};
    CHECK(first.hear() == "in");
    first.signal(SIGTERM);
    CHECK(first.end() == "exit code 143");
    CHECK_FALSE(told_at(path).empty());
    CHECK(ended_run{run_at(path, with(robust, {"--max-hold", "200ms"}), {"sleep", "1000"})}.how == "exit code 124");
    CHECK_FALSE(told_at(path).empty());
  }

  TEST_CASE("a command that cannot be started has left nothing half done") {
    const auto path = fresh_path();
    CHECK(ended_run{run_at(path, robust, {"/dev/null"})}.how == "exit code 126");
    CHECK(told_at(path).empty());
  }

  TEST_CASE("what does not go with it is a wrong argument") {
    const auto path = fresh_path();
    for (const arguments& each : {arguments{"--robust", "--shared"}, arguments{"--robust", "--path", fresh_path()},
                                  arguments{"--robust", "--any"}, arguments{"--lock-delay", "1s"},
                                  arguments{"--robust", "--lock-delay", "2m"}}) {
      CHECK(ended_run{run_at(path, each, {"true"})}.how == "exit code 64");
    }
  }
}

}  // namespace latchkey::testing
