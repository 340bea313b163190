// SPDX-License-Identifier: Apache-2.0
/// What a process leaves that was killed, and its next run: real processes, with sessions that outlast every test.

#include <latchkey/session_file.hpp>

#include <signal.h>

#include <cstdlib>
#include <string>
#include <thread>

#include <doctest/doctest.h>
#include <latchkey/testing/child_process.hpp>

#include <latchkey/error.hpp>

#include "error_of.hpp"
#include "session/session_file.hpp"
#include "support/support.hpp"
#include "temporary_folder.hpp"

namespace latchkey::testing {
namespace {

struct stage {
  const temporary_folder folder;
  const std::string file = folder / "session";
  const std::string path = fresh_path();

  std::vector<std::string> holder(const std::string& connect_string = servers().connect_string()) const {
    return {HOLDER_PROCESS, connect_string,
            path,           std::to_string(std::chrono::milliseconds{long_session}.count()),
            "recorded",     file};
  }
};

/// @returns the first word that it says; far sooner than its session would end.
std::string answer_of(child_process& process) {
  const auto line = process.hear(patience()).value_or("nothing");
  return line.substr(0, line.find(' '));
}

std::string answer_to(const std::string& line, child_process& process) {
  return process.say(line) ? process.hear(patience()).value_or("nothing") : "it has ended";
}

}  // namespace

TEST_SUITE("left sessions") {
  TEST_CASE_FIXTURE(stage, "the locks of a process that was killed are free when it is started again") {
    child_process process;
    for (int i = 0; i < 5; ++i) {
      process.start(holder());
      REQUIRE(answer_of(process) == "held");
      process.kill();
    }
    CHECK(queue_at(path).size() == 1);
    CHECK(end_left_sessions(file).ended == 1);
    CHECK(queue_at(path).empty());
  }

  /// OPERATIONS.md, "How a process ends", has these rows.
  TEST_CASE_FIXTURE(stage, "so they are however it has ended") {
    for (const auto* how : {"exit", "quick_exit", "_exit", "abort", "throw", "a signal"}) {
      CAPTURE(std::string{how});
      child_process process{holder()};
      REQUIRE(answer_of(process) == "held");
      if (std::string_view{how} == "a signal") process.signal(SIGKILL);
      process.say(how);
      REQUIRE(process.wait(patience()).has_value());
      CHECK(queue_at(path).size() == 1);
      const auto begin = std::chrono::steady_clock::now();
      process.start(holder());
      CHECK(answer_of(process) == "held");
      const std::chrono::duration<double, std::milli> taken = std::chrono::steady_clock::now() - begin;
      MESSAGE(std::string{how} << ": held again " << taken.count() << " ms after the start of the next process");
      process.hang_up();
      CHECK(process.wait(patience()) == "exit code 0");
      CHECK(queue_at(path).empty());
    }
  }

  TEST_CASE_FIXTURE(stage, "so they are while any of the servers is dead") {
    for (std::size_t dead = 0; dead < 3; ++dead) {
      child_process process{holder()};
      REQUIRE(answer_of(process) == "held");
      process.kill();
      servers().kill(dead);
      process.start(holder());
      CHECK(answer_of(process) == "held");
      servers().restart(dead);
      process.kill();
    }
  }

  TEST_CASE_FIXTURE(stage, "a process that lives keeps its locks, also while it is stopped") {
    child_process process{holder()};
    REQUIRE(answer_of(process) == "held");
    for (const bool stopped : {false, true}) {
      if (stopped) process.pause();
      child_process second{holder()};
      const auto said = second.hear(patience()).value_or("nothing");
      CAPTURE(said);
      CHECK(said.starts_with("refused the session file"));
      CHECK(said.find("the process " + std::to_string(process.pid()) + " still runs") != std::string::npos);
      CHECK(error_of([&] { return end_left_sessions(file); }) == errc::session_file_in_use);
    }
    process.resume();
    CHECK(answer_to("look", process) == "held");
    CHECK(queue_at(path).size() == 1);
  }

  TEST_CASE_FIXTURE(stage, "a child that the killed process had forked holds nothing up") {
    child_process process{holder()};
    REQUIRE(answer_of(process) == "held");
    const auto said = answer_to("fork", process);
    REQUIRE(said.starts_with("forked "));
    process.kill();
    child_process next{holder()};
    CHECK(answer_of(next) == "held");
    ::kill(std::atoi(said.substr(7).c_str()), SIGKILL);
  }

  TEST_CASE_FIXTURE(stage, "a process that executes itself has its lock again") {
    child_process process{holder()};
    REQUIRE(answer_of(process) == "held");
    for (int i = 0; i < 3; ++i) {
      REQUIRE(process.say("exec"));
      REQUIRE(answer_of(process) == "held");
    }
    CHECK(queue_at(path).size() == 1);
  }

  TEST_CASE_FIXTURE(stage, "a process that unlocks, or closes its client, leaves nothing to end") {
    child_process process{holder()};
    REQUIRE(answer_of(process) == "held");
    process.hang_up();
    CHECK(process.wait(patience()) == "exit code 0");
    CHECK(queue_at(path).empty());
    const auto left = end_left_sessions(file);
    CHECK(left.ended + left.expired == 0);
  }

  TEST_CASE_FIXTURE(stage, "a session that the ensemble has ended already is told apart") {
    child_process process{holder()};
    REQUIRE(answer_of(process) == "held");
    const auto pid = process.pid();
    process.kill();
    const auto session = detail::session_file{file, detail::session_file::purpose::read}.sessions().at(0).id;
    REQUIRE(servers().expire(session));
    const auto left = end_left_sessions(file);
    CHECK(left.ended == 0);
    CHECK(left.expired == 1);
    CHECK(left.pid == pid);
  }

  TEST_CASE_FIXTURE(stage, "the servers are those of the dead process, whatever those of the next one are") {
    proxy net{servers().addresses()};
    child_process process{holder(net.connect_string())};
    REQUIRE(answer_of(process) == "held");
    process.kill();
    process.start(holder());
    CHECK(answer_of(process) == "held");
  }

  TEST_CASE_FIXTURE(stage, "a client may be destroyed at any moment while it ends a session") {
    child_process process;
    for (int i = 0; i < 30; ++i) {
      process.start(holder());
      REQUIRE(answer_of(process) == "held");
      process.kill();
      client_options options;
      options.session_file = file;
      options.close_timeout = 1ms;
      for (int j = 0; j < 3; ++j) {
        const client hasty{servers().connect_string(), options};
        if (i % 3 == 0) std::this_thread::sleep_for(std::chrono::milliseconds{i / 3});
      }
    }
  }

  TEST_CASE_FIXTURE(stage, "what no server ends in time is left to the next attempt") {
    proxy net{servers().addresses()};
    child_process process{holder(net.connect_string())};
    REQUIRE(answer_of(process) == "held");
    process.kill();
    net.cut();
    CHECK(error_of([&] { return end_left_sessions(file, {}, 300ms); }) == errc::unreachable);
    net.heal();
    CHECK(end_left_sessions(file, {}, patience()).ended == 1);
    CHECK(queue_at(path).empty());
  }
}

}  // namespace latchkey::testing
