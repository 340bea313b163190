// SPDX-License-Identifier: Apache-2.0
/// `latchkey run`: what the command starts, what is left, and what stands again.

#include <doctest/doctest.h>

#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include <latchkey/mutex.hpp>
#include <latchkey/queue_snapshot.hpp>

#include "run_program.hpp"

namespace latchkey::testing {

TEST_SUITE("latchkey run") {
  TEST_CASE("the lock is kept for what the command has started") {
    const auto path = fresh_path();
    client owner{servers().connect_string(), quiet()};
    run one{run_at(path, {}, shell("(sh -c 'echo in; sleep 1.5' &)"))};
    CHECK(one.hear() == "in");
    CHECK(contenders_at(owner, path) == 1);
    CHECK(one.end() == "exit code 0");
    CHECK(has(one.err, "the lock is kept for what it has started"));
    CHECK(contenders_at(owner, path) == 0);
  }

  TEST_CASE("it hears of the end of the command, also if its parent has ignored SIGCHLD") {
    const auto path = fresh_path();
    child_process one{
        with({"/usr/bin/env", "--ignore-signal=CHLD", LATCHKEY_COMMAND}, run_at(path, {}, shell("exit 7")))};
    CHECK(one.wait(time_to_end) == "exit code 7");
  }

  TEST_CASE("a process that was there before is none of the tree") {
    const auto path = fresh_path();
    client owner{servers().connect_string(), quiet()};
    mutex lock{owner, path};
    const auto held = lock.acquire();
    std::string words;
    for (const auto& each : run_at(path, {"-n"}, {"true"})) words += " " + each;
    child_process one{{"/bin/sh", "-c", std::string{"sleep 1000 & echo $!; exec "} + LATCHKEY_COMMAND + words}};
    const auto other = one.hear(time_to_end);
    REQUIRE(other);
    CHECK(one.wait(time_to_end) == "exit code 1");
    CHECK(::kill(std::stoi(*other), SIGKILL) == 0);
  }

  TEST_CASE("many runs leave no node, no process and no control group") {
    const auto path = fresh_path();
    const auto* const given = std::getenv("LATCHKEY_RUNS");
    const int count = given != nullptr ? std::stoi(given) : 20;
    for (int i = 0; i < count; ++i) CHECK(ended_run{run_at(path, {"-n"}, shell(": " + path))}.how == "exit code 0");
    CHECK(servers().children(path).empty());
    CHECK(eventually([&] { return processes_with(path) == 0; }));
    CHECK(control_groups_of(path).empty());
  }

  TEST_CASE("the empty control group of a run that was killed with its guard goes with the next run under any lock") {
    if (!has_cgroups()) return;
    const auto path = fresh_path();
    run one{run_at(path, {"-T", "2s"}, shell("echo $PPID; exec sleep 1000"))};
    const auto guard = std::stoi(one.hear().value());
    REQUIRE(control_groups_of(path).size() == 1);
    const auto processes = control_groups_of(path).front() / "cgroup.procs";
    for (const auto each : {one.pid(), guard}) ::kill(each, SIGSTOP);
    for (const auto each : {guard, one.pid()}) ::kill(each, SIGKILL);
    int left = 0;
    CHECK(eventually([&] { return !(std::ifstream{processes} >> left); }));
    CHECK(ended_run{run_at(fresh_path(), {"-n"}, {"true"})}.how == "exit code 0");
    CHECK(control_groups_of(path).empty());
  }

  TEST_CASE("the command is in a control group of its own, which goes with its run") {
    if (!has_cgroups()) return;
    SUBCASE("it ends by itself, and has made one below") {
      const auto name = "latchkey-test-" + std::to_string(::getpid());
      const std::string own =
          "f=$(dirname $(find /sys/fs/cgroup -path \"*$(sed -n s/^0:://p /proc/self/cgroup)/cgroup.kill\"))";
      run one{run_at(fresh_path(), {"--contain", "cgroup"}, shell(own + "; mkdir $f/" + name + " && echo $f; exit 3"))};
      const auto folder = one.hear();
      REQUIRE(folder);
      CHECK(has(*folder, "/latchkey-run."));
      CHECK(one.end() == "exit code 3");
      CHECK_FALSE(std::filesystem::exists(*folder));
    }
    SUBCASE("it forks without bound, in sessions of its own") {
      temporary_folder folder;
      const auto by_itself = (folder / "ended").string();
      const arguments limits{"--contain", "cgroup", "--max-hold", "300ms", "-k", "50ms"};
      CHECK(end_of(limits, {LATCHKEY_STORM, by_itself, "20", "20000"}) == "exit code 124");
      CHECK_FALSE(std::filesystem::exists(by_itself));
      CHECK(processes_with(by_itself) == 0);
    }
    SUBCASE("processes that outlive the command are left alone: there is none") {
      const ended_run both{run_at(fresh_path(), {"--contain", "cgroup", "--leftover", "leave"}, {"true"})};
      CHECK(both.how == "exit code 64");
      CHECK(has(both.err, "--leftover=leave excludes --contain=cgroup"));
      CHECK_FALSE(has(ended_run{run_at(fresh_path(), {"--leftover", "leave"}, {"cat", "/proc/self/cgroup"})}.out,
                      "/latchkey-run."));
    }
    SUBCASE("the tree is found without it, if that is wanted") {
      CHECK_FALSE(has(ended_run{run_at(fresh_path(), {"--contain", "tree"}, {"cat", "/proc/self/cgroup"})}.out,
                      "/latchkey-run."));
      CHECK(has(ended_run{run_at(fresh_path(), {}, {"cat", "/proc/self/cgroup"})}.out, "/latchkey-run."));
    }
  }

  TEST_CASE("--restart stands again after a failure, and ends at a signal") {
    temporary_folder folder;
    const auto marker = (folder / "marker").string();
    run one{
        run_at(fresh_path(), {"--restart"},
               shell("echo $LATCHKEY_FENCE; [ -e " + marker + " ] && exec sleep 1000; touch " + marker + "; exit 3"))};
    const auto first = one.hear();
    const auto second = one.hear();
    REQUIRE(first);
    REQUIRE(second);
    CHECK(*first < *second);
    one.signal(SIGTERM);
    CHECK(one.end() == "exit code 143");
    CHECK(one.out.empty());
  }

  TEST_CASE("--restart stands again after success") {
    temporary_folder folder;
    const auto marker = (folder / "marker").string();
    run one{run_at(fresh_path(), {"--restart"},
                   shell("echo $LATCHKEY_FENCE; [ -e " + marker + " ] && exec sleep 1000; touch " + marker))};
    CHECK(one.hear());
    CHECK(one.hear());
    one.signal(SIGINT);
    CHECK(one.end() == "exit code 130");
  }

  TEST_CASE("--restart does not repeat what will be wrong again") {
    CHECK(end_of({"--restart", "--permits", "2"}, shell("true")) == "exit code 64");
    CHECK(end_of({"--restart", "-T", "soon"}, shell("true")) == "exit code 64");
    CHECK(end_of({"--restart"}, {"/not/there"}) == "exit code 127");
  }

  TEST_CASE("--restart outlives a run that is killed, and no run outlives it") {
    const auto path = fresh_path();
    run one{run_at(path, {"--restart", "-T", "2s"}, shell("echo $LATCHKEY_FENCE; exec sleep 1000"))};
    const auto first = one.hear();
    REQUIRE(first);
    const auto children = "/proc/" + std::to_string(one.pid()) + "/task/" + std::to_string(one.pid()) + "/children";
    int runner = 0;
    std::ifstream{children} >> runner;
    REQUIRE(runner > 0);
    REQUIRE(::kill(runner, SIGKILL) == 0);
    const auto second = one.hear();
    REQUIRE(second);
    CHECK(*first < *second);
    one.signal(SIGKILL);
    client other{servers().connect_string(), quiet()};
    CHECK(eventually([&] { return contenders_at(other, path) == 0; }));
    CHECK(eventually([&] { return one.end() == "signal 9"; }));
  }
}

}  // namespace latchkey::testing
