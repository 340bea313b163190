// SPDX-License-Identifier: Apache-2.0
/// `latchkey run`: what it says, on the standard error, in files, and to a manager of services.

#include <doctest/doctest.h>

#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>
#include <string>

#include <latchkey/mutex.hpp>

#include "run_program.hpp"

namespace latchkey::testing {

TEST_SUITE("latchkey run") {
  TEST_CASE("what the library warns of is printed") {
    const auto path = fresh_path();
    client owner{servers().connect_string(), quiet()};
    mutex lock{owner, path};
    const auto held = lock.acquire();
    const ended_run mixed{run_at(path, {"--semaphore", "2"}, {"true"})};
    CHECK(mixed.how == "exit code 0");
    CHECK(has(mixed.err, "a path is used as a lock and as a semaphore"));
    CHECK(has(mixed.err, path));
  }

  TEST_CASE("the report says how it ended") {
    temporary_folder folder;
    const auto file = (folder / "report").string();
    CHECK(end_of({"--report", file}, shell("exit 3")) == "exit code 3");
    std::ifstream text{file};
    const auto report = json::parse(text);
    CHECK(report.at("outcome") == "ended");
    CHECK(report.at("exit_code") == 3);
    CHECK(report.at("status") == 3);
    CHECK(report.at("fence").get<std::string>().size() == 24);
  }

  TEST_CASE("the report of a command that is not there says so, and a link is written through") {
    temporary_folder folder;
    const auto file = (folder / "target").string();
    const auto link = (folder / "link").string();
    std::filesystem::create_symlink(file, link);
    CHECK(end_of({"--report", link}, {"no-such-command-anywhere"}) == "exit code 127");
    CHECK(std::filesystem::is_symlink(link));
    std::ifstream text{file};
    const auto report = json::parse(text);
    CHECK(report.at("outcome") == "not-started");
    CHECK(report.at("exit_code") == 127);
  }

  TEST_CASE("a report on the standard output of a file stands where it is written") {
    const temporary_folder folder;
    const auto file = (folder / "out").string();
    std::string script = "{ ";
    for (const auto* word : {"one", "two"}) {
      script += LATCHKEY_COMMAND;
      for (const auto& each : run_at(fresh_path(), {"--report", "/dev/stdout"}, {"echo", word})) script += " " + each;
      script += "; ";
    }
    REQUIRE(std::system((script + "echo end; } > " + file).c_str()) == 0);
    std::ifstream text{file};
    std::vector<std::string> lines;
    for (std::string each; std::getline(text, each);) lines.push_back(each);
    REQUIRE(lines.size() == 5);
    CHECK(lines[0] == "one");
    CHECK(json::parse(lines[1]).at("outcome") == "ended");
    CHECK(lines[2] == "two");
    CHECK(json::parse(lines[3]).at("outcome") == "ended");
    CHECK(lines[4] == "end");
  }

  TEST_CASE("a lock that is lost while --hold-for keeps it is told of") {
    const auto path = fresh_path();
    run one{run_at(path, {"--hold-for", "1h"}, {"echo", "done"})};
    CHECK(one.hear() == "done");
    client owner{servers().connect_string(), quiet()};
    REQUIRE(evict(owner, path, servers().children(path).at(0)));
    CHECK(one.end() == "exit code 0");
    CHECK(has(one.err, "lost before the time of --hold-for was over: node deleted"));
  }

  TEST_CASE("the metrics of two jobs do not collide in one folder") {
    temporary_folder folder;
    const auto nightly = (folder / "nightly.prom").string();
    const auto hourly = (folder / "hourly \"1\".prom").string();
    CHECK(end_of({"--textfile", nightly}, shell("exit 3")) == "exit code 3");
    CHECK(end_of({"--textfile", hourly}, shell("exit 0")) == "exit code 0");
    std::set<std::string> series;
    for (const auto& name : {nightly, hourly}) {
      std::ifstream file{name};
      for (std::string line; std::getline(file, line);) {
        if (line.starts_with('#')) continue;
        CAPTURE(line);
        CHECK(series.insert(line.substr(0, line.rfind(' '))).second);
      }
    }
    CHECK(series.contains(R"(latchkey_run_exit_code{run="nightly"})"));
    CHECK(series.contains(R"(latchkey_run_exit_code{run="hourly \"1\""})"));
    CHECK(series.contains(R"(latchkey_run_outcome{run="nightly",outcome="ended"})"));
    CHECK(series.contains(R"(latchkey_granted_total{run="nightly",group=""})"));
    CHECK(series.contains(R"(latchkey_sessions_total{run="hourly \"1\""})"));
  }

  TEST_CASE("--notify tells the manager of services what it waits for, that it runs, and that it stops") {
    temporary_folder folder;
    const auto name = (folder / "notify").string();
    const int hears = ::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    sockaddr_un here{};
    here.sun_family = AF_UNIX;
    REQUIRE(name.size() < sizeof here.sun_path);
    std::copy(name.begin(), name.end(), here.sun_path);
    REQUIRE(::bind(hears, reinterpret_cast<const sockaddr*>(&here), sizeof here) == 0);
    const auto hear = [&] {
      pollfd ready{hears, POLLIN, 0};
      std::string told(512, '\0');
      const bool has_told = ::poll(&ready, 1, static_cast<int>(std::chrono::milliseconds{time_to_end}.count())) == 1;
      const auto size = has_told ? ::recv(hears, told.data(), told.size(), 0) : 0;
      return told.substr(0, static_cast<std::size_t>(std::max<ssize_t>(size, 0)));
    };
    const auto path = fresh_path();
    client owner{servers().connect_string(), quiet()};
    mutex lock{owner, path};
    auto held = lock.acquire();
    ::setenv("NOTIFY_SOCKET", name.c_str(), 1);
    run one{run_at(path, {"--notify"}, shell("echo ${NOTIFY_SOCKET-none}; exec sleep 1000"))};
    ::unsetenv("NOTIFY_SOCKET");
    CHECK(hear() == "STATUS=waits for " + path + ", 2 in the queue");
    held.release();
    auto told = hear();
    while (told.starts_with("STATUS=waits")) told = hear();
    CHECK(told == "READY=1\nSTATUS=holds " + path);
    CHECK(one.hear() == "none");
    one.signal(SIGTERM);
    CHECK(hear() == "STOPPING=1");
    CHECK(one.end() == "exit code 143");

    const auto stops = [&](const std::string& when, const arguments& options, const arguments& command) {
      CAPTURE(when);
      ::setenv("NOTIFY_SOCKET", name.c_str(), 1);
      run other{run_at(path, with({"--notify"}, options), command)};
      ::unsetenv("NOTIFY_SOCKET");
      for (auto what = hear(); !what.starts_with(when); what = hear()) REQUIRE(what != "");
      if (command.front() == "echo") CHECK(other.hear() == "done");
      other.signal(SIGTERM);
      CHECK(hear() == "STOPPING=1");
      other.end();
    };
    stops("STATUS=has released the lock", {"--restart"}, {"false"});
    stops("READY=1", {"--hold-for", "1h"}, {"echo", "done"});
    held = lock.acquire();
    stops("STATUS=waits", {}, {"true"});
    ::close(hears);
  }
}

}  // namespace latchkey::testing
