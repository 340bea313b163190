// SPDX-License-Identifier: Apache-2.0
/// `latchkey run`: signals and terminals.

#include <doctest/doctest.h>

#include <poll.h>
#include <pty.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

#include <latchkey/mutex.hpp>
#include <latchkey/queue_snapshot.hpp>

#include "run_program.hpp"

namespace latchkey::testing {
namespace {

/// @returns whether the process has blocked the signal, and so gets it from a descriptor.
bool blocks(int pid, int signal) {
  std::ifstream status{"/proc/" + std::to_string(pid) + "/status"};
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with("SigBlk:")) return (std::stoull(line.substr(7), nullptr, 16) >> (signal - 1) & 1) != 0;
  }
  return false;
}

/// A program in a terminal of its own, which is its session.
class in_terminal {
 public:
  explicit in_terminal(arguments command) {
    std::vector<char*> pointers;
    for (auto& each : command) pointers.push_back(each.data());
    pointers.push_back(nullptr);
    process_ = ::forkpty(&terminal_, nullptr, nullptr, nullptr);
    REQUIRE(process_ >= 0);
    if (process_ != 0) return;
    ::execvp(pointers.front(), pointers.data());
    ::_exit(127);
  }
  ~in_terminal() { ::close(terminal_); }
  in_terminal(const in_terminal&) = delete;
  in_terminal& operator=(const in_terminal&) = delete;

  void type(std::string_view key) const { REQUIRE(::write(terminal_, key.data(), key.size()) == 1); }
  bool shows(std::string_view what, std::size_t from = 0) {
    const auto end = std::chrono::steady_clock::now() + time_to_end;
    while (shown.find(what, from) == shown.npos && std::chrono::steady_clock::now() < end) {
      pollfd ready{terminal_, POLLIN, 0};
      std::array<char, 1024> some{};
      const auto got = ::poll(&ready, 1, 1000) == 1 ? ::read(terminal_, some.data(), some.size()) : 0;
      if (got < 0) break;  // no process has it open any more
      shown.append(some.data(), static_cast<std::size_t>(got));
    }
    return shown.find(what, from) != shown.npos;
  }
  int exit_code() const {
    int status = 0;
    CHECK(::waitpid(process_, &status, 0) == process_);
    CHECK(WIFEXITED(status));
    return WEXITSTATUS(status);
  }

  std::string shown{};

 private:
  int terminal_ = -1;
  pid_t process_ = -1;
};

}  // namespace

TEST_SUITE("latchkey run") {
  TEST_CASE("a signal ends the wait for a server, too") {
    const std::vector<std::string> nowhere{"-c", "127.0.0.1:1", "--timeout", "1h"};
    for (const auto& each : {with({"run", "-n", "--path", "/a"}, with(nowhere, {"--", "true"})),
                             with({"run", "--path", "/a"}, with(nowhere, {"--", "true"})),
                             with({"watch", "/a"}, nowhere), with({"leader", "/a", "--follow"}, nowhere)}) {
      CAPTURE(json(each).dump());
      run one{each};
      CHECK(eventually([&] { return blocks(one.pid(), SIGTERM); }));
      one.signal(SIGTERM);
      CHECK(one.end() == (each.front() == "run" ? "exit code 143" : "exit code 0"));
    }
  }

  TEST_CASE("a signal before the lock ends the wait, and nothing is started or left") {
    const auto path = fresh_path();
    client owner{servers().connect_string(), quiet()};
    mutex lock{owner, path};
    const auto held = lock.acquire();
    temporary_folder folder;
    const auto file = (folder / "started").string();
    run waiting{run_at(path, {}, {"touch", file})};
    CHECK(eventually([&] { return contenders_at(owner, path) == 2; }));
    waiting.signal(SIGINT);
    CHECK(waiting.end() == "exit code 130");
    CHECK(eventually([&] { return contenders_at(owner, path) == 1; }));
    CHECK_FALSE(std::filesystem::exists(file));
  }

  TEST_CASE("a signal under the lock is for the command; the lock is kept until it has ended") {
    const auto path = fresh_path();
    client owner{servers().connect_string(), quiet()};
    SUBCASE("it ends by itself") {
      run one{run_at(path, {}, shell("trap 'echo bye; exit 5' TERM; echo in; while :; do sleep 0.01; done"))};
      CHECK(one.hear() == "in");
      one.signal(SIGTERM);
      CHECK(one.hear() == "bye");
      CHECK(one.end() == "exit code 5");
    }
    SUBCASE("USR1 asks for no end") {
      run one{run_at(path, {}, shell("trap 'echo one' USR1; echo in; while :; do sleep 0.01; done"))};
      CHECK(one.hear() == "in");
      one.signal(SIGUSR1);
      CHECK(one.hear() == "one");
      CHECK(contenders_at(owner, path) == 1);
      one.signal(SIGHUP);
      CHECK(one.end() == "exit code 129");
    }
    SUBCASE("it does not end, and -k ends it") {
      run one{run_at(path, {"-k", "200ms"}, shell("trap : TERM; echo in; while :; do sleep 0.01; done"))};
      CHECK(one.hear() == "in");
      one.signal(SIGTERM);
      CHECK(one.end() == "exit code 137");
    }
    CHECK(contenders_at(owner, path) == 0);
  }

  TEST_CASE("a signal that asks a run to end ends --hold-for, too, whenever it comes") {
    SUBCASE("while the command runs") {
      run one{run_at(fresh_path(), {"--hold-for", "1h"},
                     shell("trap 'exit 3' TERM; echo in; while :; do sleep 0.01; done"))};
      CHECK(one.hear() == "in");
      one.signal(SIGTERM);
      CHECK(one.end() == "exit code 3");
    }
    SUBCASE("in the moment in which it ends") {
      const temporary_folder folder;
      const auto goes = (folder / "goes").string();
      run one{run_at(fresh_path(), {"--hold-for", "1h"},
                     shell("echo $$; until [ -e " + goes + " ]; do sleep 0.01; done; exit 3"))};
      const auto command = one.hear();
      REQUIRE(command);
      one.signal(SIGSTOP);
      std::ofstream{goes}.close();
      CHECK(eventually([&] { return !std::filesystem::exists("/proc/" + *command); }));
      one.signal(SIGTERM);
      one.signal(SIGCONT);
      CHECK(one.end() == "exit code 3");
    }
  }

  TEST_CASE("what is ignored at the beginning stays so, also with --restart") {
    auto words = run_at(fresh_path(), {"--restart"}, shell("echo $LATCHKEY_FENCE; sleep 0.1"));
    child_process one{with({"/usr/bin/env", "--ignore-signal=HUP", LATCHKEY_COMMAND}, words)};
    CHECK(one.hear(time_to_end));
    one.signal(SIGHUP);
    CHECK(one.hear(time_to_end));
    CHECK(one.hear(time_to_end));
    one.signal(SIGTERM);
    CHECK(one.wait(time_to_end) != "exit code 129");
  }

  TEST_CASE("in a terminal Ctrl-C is the command's, and Ctrl-Z does not stop it") {
    in_terminal one{
        with({LATCHKEY_COMMAND}, run_at(fresh_path(), {},
                                        shell("trap 'echo caught; exit 9' INT; echo ready; while :; do echo tick; "
                                              "sleep 0.05; done")))};
    REQUIRE(one.shows("ready"));
    one.type("\x1a");
    REQUIRE(one.shows("^Z"));
    CHECK(one.shows("tick", one.shown.find("^Z")));
    one.type("\x03");
    CHECK(one.shows("caught"));
    CHECK(one.exit_code() == 9);
  }

  TEST_CASE("in a terminal Ctrl-C ends --hold-for, too") {
    in_terminal one{
        with({LATCHKEY_COMMAND}, run_at(fresh_path(), {"--hold-for", "1h"}, shell("echo ready; exec sleep 1000")))};
    REQUIRE(one.shows("ready"));
    one.type("\x03");
    CHECK(one.exit_code() == 130);
  }

  TEST_CASE("in the background of a terminal a command that reads it fails, and does not stop") {
    in_terminal one{{"sh", "-mc", "\"$@\" & wait $!; echo ended $?", "sh", LATCHKEY_COMMAND, "run", "-c",
                     servers().connect_string(), "--path", fresh_path(), "--", "cat"}};
    CHECK(one.shows("ended 1"));
    CHECK(one.exit_code() == 0);
  }
}

}  // namespace latchkey::testing
