// SPDX-License-Identifier: Apache-2.0
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <sstream>
#include <string>

#include "support.hpp"

using namespace latchkey::testing;

namespace {

/// Whether there is such a process that is not a zombie.
bool lives(int pid) {
  std::ifstream in{"/proc/" + std::to_string(pid) + "/stat"};
  std::string stat;
  std::getline(in, stat);
  const auto name_end = stat.rfind(')');
  return name_end != stat.npos && stat.at(name_end + 2) != 'Z';
}

/// The program `testcluster up --servers 1`, with its first lines of both outputs.
struct program {
  program() {
    std::array<int, 2> out{};
    REQUIRE(::pipe(out.data()) == 0);
    pid = ::fork();
    if (pid == 0) {
      ::dup2(out[1], STDOUT_FILENO);
      ::dup2(out[1], STDERR_FILENO);
      ::execl(TESTCLUSTER_PROGRAM, "testcluster", "up", "--servers", "1", static_cast<char*>(nullptr));
      ::_exit(127);
    }
    ::close(out[1]);
    std::string text;
    for (char c = 0; text.find("Ctrl-C") == text.npos && ::read(out[0], &c, 1) == 1;) text += c;
    ::close(out[0]);
    std::istringstream lines{text};
    std::getline(lines, connect_string);
    const auto at = text.find("pid ");
    REQUIRE(at != text.npos);
    server = std::atoi(text.c_str() + at + 4);
  }

  int wait_for_end() const {
    int status = 0;
    ::waitpid(pid, &status, 0);
    return status;
  }

  pid_t pid = 0;
  int server = 0;
  std::string connect_string;
};

/// Sets an environment variable for a while.
struct environment {
  environment(const char* variable, const char* value) : name(variable) {
    if (const char* old = std::getenv(variable)) before = old;
    ::setenv(variable, value, 1);
  }
  ~environment() { before.empty() ? ::unsetenv(name) : ::setenv(name, before.c_str(), 1); }
  const char* name;
  std::string before;
};

}  // namespace

TEST_SUITE_BEGIN("process");

TEST_CASE("the program prints a connect string and ends on SIGTERM with its server") {
  const program up;
  const auto colon = up.connect_string.find(':');
  REQUIRE(colon != up.connect_string.npos);
  const auto port = static_cast<std::uint16_t>(std::stoi(up.connect_string.substr(colon + 1)));
  CHECK(raw_client{endpoint{"127.0.0.1", port}}.exists("/").has_value());
  ::kill(up.pid, SIGTERM);
  const int status = up.wait_for_end();
  CHECK(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == 0);
  CHECK_FALSE(lives(up.server));
}

TEST_CASE("the servers die with a process that is killed") {
  const program up;
  CHECK(lives(up.server));
  ::kill(up.pid, SIGKILL);
  up.wait_for_end();
  CHECK(eventually([&] { return !lives(up.server); }));
}

TEST_CASE("a forked child may destroy its copy of an ensemble without harm") {
  auto server = std::make_unique<ensemble>(ensemble_options{.servers = 1});
  const auto child = ::fork();
  if (child == 0) {
    server.reset();
    ::_exit(0);
  }
  int status = -1;
  ::waitpid(child, &status, 0);
  CHECK(status == 0);
  CHECK(server->admin(0).ruok());
  CHECK(std::filesystem::exists(server->data_dir()));
}

TEST_CASE("servers inherit no descriptors") {
  std::array<int, 2> ends{};
  REQUIRE(::pipe(ends.data()) == 0);  // without close-on-exec
  const ensemble server{{.servers = 1}};
  ::close(ends[1]);
  char byte = 0;
  CHECK(::read(ends[0], &byte, 1) == 0);  // nobody else holds the other end
  ::close(ends[0]);
}

TEST_CASE("a missing java is an error that names the packages") {
  const environment no_home{"JAVA_HOME", "/nonexistent"};
  const environment no_path{"PATH", "/nonexistent"};
  CHECK_THROWS_WITH_AS((ensemble{{.servers = 1}}), doctest::Contains("apt-get install zookeeper"), missing_package);
}

TEST_SUITE_END();
