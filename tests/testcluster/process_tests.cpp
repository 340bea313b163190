// SPDX-License-Identifier: Apache-2.0
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include <latchkey/testing/child_process.hpp>
#include <latchkey/testing/proxy.hpp>

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

/// Whether a connection to this port is accepted.
bool accepts(std::uint16_t port) {
  const int end = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in to{};
  to.sin_family = AF_INET;
  to.sin_port = htons(port);
  to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  const bool accepted = ::connect(end, reinterpret_cast<const sockaddr*>(&to), sizeof to) == 0;
  ::close(end);
  return accepted;
}

/// The program `latchkey-testcluster up --servers 1`, with its first lines of both outputs.
struct program {
  program() {
    connect_string = process.hear().value();
    const auto line = process.hear().value();
    const auto at = line.find("pid ");
    REQUIRE(at != line.npos);
    server = std::atoi(line.c_str() + at + 4);
    REQUIRE(process.hear().value().find("Ctrl-C") != line.npos);
  }

  child_process process{{"/bin/sh", "-c", "exec " TESTCLUSTER_PROGRAM " up --servers 1 2>&1"}};
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
  program up;
  const auto colon = up.connect_string.find(':');
  REQUIRE(colon != up.connect_string.npos);
  const auto port = static_cast<std::uint16_t>(std::stoi(up.connect_string.substr(colon + 1)));
  CHECK(raw_client{endpoint{"127.0.0.1", port}}.exists("/").has_value());
  up.process.signal(SIGTERM);
  CHECK(up.process.wait() == "exit code 0");
  CHECK_FALSE(lives(up.server));
}

TEST_CASE("the program kills, starts, pauses and resumes a server by number, and says when one dies") {
  program up;
  const auto hears = [&](const std::string& words) {
    for (auto line = up.process.hear(); line; line = up.process.hear()) {
      if (line->find(words) != line->npos) return true;
    }
    return false;
  };
  up.process.say("kill 0");
  CHECK(hears("server 0: kill done"));
  CHECK_FALSE(lives(up.server));
  CHECK(hears("server 0 is dead; its log: "));
  up.process.say("start 0");
  CHECK(hears("server 0: start done"));
  up.process.say("pause 0");
  CHECK(hears("server 0: pause done"));
  up.process.say("resume 0");
  CHECK(hears("server 0: resume done"));
  up.process.say("restart 0");
  CHECK(hears("server 0: restart done"));
  for (const auto* wrong : {"pause 1", "pause 0 1", "pause", "stop 0"}) {
    up.process.say(wrong);
    CHECK(hears("Commands: pause N"));
  }
}

TEST_CASE("wrong arguments are named") {
  const auto refusal = [](const std::string& arguments) {
    child_process asked{{"/bin/sh", "-c", "exec " TESTCLUSTER_PROGRAM " " + arguments + " 2>&1"}};
    const auto said = asked.hear().value_or("");
    CHECK(asked.wait() == "exit code 2");
    return said;
  };
  CHECK(refusal("") == "A command (`up`) is required");
  CHECK(refusal("down") == "The following argument was not expected: down");
  CHECK(refusal("up --tick 0") == "--tick: 0 is no whole number above 0");
  CHECK(refusal("up --tick 1.5") == "--tick: 1.5 is no whole number above 0");
  CHECK(refusal("up --port 0").find("--port: Value 0 not in range") == 0);  // the rest is CLI11's, of each version
}

TEST_CASE("the help of the program names each of its commands, and so do README and the manual page") {
  const auto all_of = [](std::istream&& in) { return std::string{std::istreambuf_iterator<char>{in}, {}}; };
  child_process asked{{"/bin/sh", "-c", "exec " TESTCLUSTER_PROGRAM " --help"}};
  std::string help;
  for (auto line = asked.hear(); line; line = asked.hear()) help += *line + '\n';
  const auto readme = all_of(std::ifstream{TESTCLUSTER_SOURCE "/README.md"});
  const auto manual = all_of(std::ifstream{TESTCLUSTER_SOURCE "/latchkey-testcluster.1"});
  for (const std::string command : {"pause", "resume", "kill", "start", "restart"}) {
    CAPTURE(command);
    CHECK(help.find(command + " N") != help.npos);
    CHECK(readme.find('`' + command + " N`") != readme.npos);
    CHECK(manual.find(".BI " + command + "\\~ N") != manual.npos);
  }
}

TEST_CASE("the program serves at fixed ports, also while a server does not run, and says if one is taken") {
  const ensemble other{{.servers = 1}};
  std::optional<proxy> net{std::in_place, other.addresses()};
  const auto port = net->address(0).port;
  const auto command = "exec " TESTCLUSTER_PROGRAM " up --servers 1 --port " + std::to_string(port) + " 2>&1";
  child_process refused{{"/bin/sh", "-c", command}};
  const auto said = refused.hear();
  CHECK(said.value_or("").find("port " + std::to_string(port) + " is not free") != std::string::npos);
  CHECK(refused.wait() == "exit code 1");

  net.reset();
  child_process up{{"/bin/sh", "-c", command}};
  CHECK(up.hear() == "127.0.0.1:" + std::to_string(port));
  up.say("kill 0");
  std::optional<std::string> line;
  do line = up.hear();
  while (line && line->find("kill done") == line->npos);
  REQUIRE(line);
  CHECK(accepts(port));
}

TEST_CASE("the servers die with a process that is killed") {
  program up;
  CHECK(lives(up.server));
  up.process.kill();
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

TEST_CASE("a child is spoken to in lines, and sees the end of its input") {
  child_process cat{{"/bin/cat"}};
  CHECK(cat.say("one"));
  CHECK(cat.say("two"));
  CHECK(cat.hear(patience) == "one");
  CHECK(cat.hear(patience) == "two");
  CHECK_FALSE(cat.hear(0ms));
  cat.hang_up();
  CHECK_FALSE(cat.hear(patience));
  CHECK(cat.wait(patience) == "exit code 0");
  CHECK_FALSE(cat.say("three"));
}

TEST_CASE("a child that has been killed is gone, and another can be started in its place") {
  child_process child{{"/bin/sleep", "1000"}};
  const auto first = child.pid();
  CHECK(lives(first));
  CHECK_FALSE(child.wait(0ms));
  child.kill();
  CHECK_FALSE(lives(first));
  CHECK_FALSE(child.alive());
  CHECK(child.wait() == "signal 9");
  child.start({"/bin/sh", "-c", "exit 3"});
  CHECK(child.wait(patience) == "exit code 3");
}

TEST_CASE("a child that is alive is not started again") {
  child_process child{{"/bin/cat"}};
  CHECK_THROWS_WITH_AS(child.start({"/bin/cat"}),
                       "the child process is still alive; wait for its end, or kill it, before the next",
                       cluster_error);
  CHECK(child.alive());
}

TEST_CASE("a child that is paused goes on when it is resumed, and can be killed") {
  child_process cat{{"/bin/cat"}};
  for (int i = 0; i < 100; ++i) {
    cat.pause();
    CHECK(cat.paused());
    CHECK(cat.alive());
    cat.resume();
    CHECK_FALSE(cat.paused());
  }
  CHECK(cat.say("awake"));
  CHECK(cat.hear(patience) == "awake");
  cat.pause();
  cat.kill();
  CHECK(cat.wait() == "signal 9");
}

TEST_CASE("a child that is not spoken to has no input, and its log has all that it says") {
  const auto log = std::filesystem::temp_directory_path() / ("testcluster-child-" + std::to_string(::getpid()));
  child_process child{{"/bin/sh", "-c", "echo out; echo err >&2; cat"}, {.log = log, .talks = false}};
  CHECK(child.wait(patience) == "exit code 0");
  std::ifstream in{log};
  CHECK(std::string{std::istreambuf_iterator<char>{in}, {}} == "out\nerr\n");
  std::filesystem::remove(log);
}

TEST_CASE("a program that is not there is an error that names it") {
  CHECK_THROWS_WITH_AS((child_process{{"/nonexistent/program"}}), doctest::Contains("/nonexistent/program"),
                       cluster_error);
}

TEST_CASE("a child process is heard line by line, the last one too if it has no end") {
  child_process process{{"/usr/bin/printf", "one\\n\\ntwo"}};
  CHECK(process.hear() == "one");
  CHECK(process.hear() == "");
  CHECK(process.hear() == "two");
  CHECK(process.hear() == std::nullopt);
  CHECK(process.wait() == "exit code 0");
}

TEST_SUITE_END();
