// SPDX-License-Identifier: Apache-2.0
/// `latchkey run` on a real server: its options, signals, exit codes, and what it leaves behind.

#include <doctest/doctest.h>

#include <poll.h>
#include <pty.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <future>
#include <iterator>
#include <memory>
#include <set>
#include <sstream>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <latchkey/hand_off.hpp>
#include <latchkey/mutex.hpp>
#include <latchkey/queue_snapshot.hpp>
#include <latchkey/testing/proxy.hpp>

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
  TEST_CASE("its exit code is that of the command, or says why there is none") {
    CHECK(end_of({}, shell("exit 7")) == "exit code 7");
    CHECK(end_of({"-n"}, {"true"}) == "exit code 0");
    CHECK(end_of({}, shell("kill -KILL $$")) == "exit code 137");
    CHECK(end_of({}, {"no-such-command-anywhere"}) == "exit code 127");
    CHECK(end_of({}, {"/etc/passwd"}) == "exit code 126");
    CHECK(end_of({"--max-hold", "200ms"}, {"sleep", "1000"}) == "exit code 124");
    const temporary_folder folder;
    CHECK(end_of({}, {folder.file("script", "exit 5\n", 0755)}) == "exit code 5");  // which names no interpreter
    CHECK(ended_run{{"run", "--path", "/a", "-c", servers().connect_string()}}.how == "exit code 64");  // no command
    CHECK(end_of({"-s", "--semaphore", "2"}, {"true"}) == "exit code 64");
    CHECK(end_of({"--loss-signal", "HUP"}, {"true"}) == "exit code 64");
    for (const auto* empty : {"--path=", "--wait=", "--label=", "--report="}) {
      CHECK(end_of({empty}, {"true"}) == "exit code 64");
    }
    CHECK(end_of({"--grace", "5s", "-T", "4s"}, {"true"}) == "exit code 64");
    CHECK(ended_run{{"run", "--path", "/a", "-c", "127.0.0.1:1", "--timeout", "1s", "--", "true"}}.how ==
          "exit code 69");
  }

  TEST_CASE("a lock that is not free in time: 1, or what -E says, and who holds it") {
    const auto path = fresh_path();
    client owner{servers().connect_string(), quiet()};
    mutex lock{owner, path};
    const auto held = lock.acquire();
    const ended_run once{run_at(path, {"-n"}, {"true"})};
    CHECK(once.how == "exit code 1");
    CHECK(has(once.err, "held by"));
    const ended_run waited{run_at(path, {"-w", "300ms", "-E", "9"}, {"true"})};
    CHECK(waited.how == "exit code 9");
    CHECK(contenders_at(owner, path) == 1);
  }

  TEST_CASE("the command knows its lock, and its sequencer is valid as long as it runs") {
    const auto path = fresh_path();
    const std::string ask = std::string{LATCHKEY_COMMAND} + " check -c " + servers().connect_string();
    const ended_run one{
        run_at(path, {}, shell("echo $LATCHKEY_PATH $LATCHKEY_FENCE; " + ask + " \"$LATCHKEY_SEQUENCER\" >&2"))};
    CHECK(one.how == "exit code 0");
    std::istringstream said{one.out};
    std::string in;
    std::string fence;
    said >> in >> fence;
    CHECK(in == path);
    CHECK(fence.size() == 24);
  }

  TEST_CASE("each recipe: readers together, permits, several paths, whichever is free, a candidate") {
    const auto path = fresh_path();
    client owner{servers().connect_string(), quiet()};
    SUBCASE("readers") {
      run first{run_at(path, {"-s"}, shell("echo in; read line"))};
      CHECK(first.hear() == "in");
      CHECK(ended_run{run_at(path, {"-s", "-n"}, {"true"})}.how == "exit code 0");
      first.signal(SIGTERM);
      CHECK(first.end() == "exit code 143");
    }
    SUBCASE("permits") {
      run first{run_at(path, {"--semaphore", "2"}, shell("echo in; sleep 1000"))};
      CHECK(first.hear() == "in");
      CHECK(ended_run{run_at(path, {"--semaphore", "2", "-n"}, {"true"})}.how == "exit code 0");
      CHECK(ended_run{run_at(path, {"--semaphore", "2", "--permits", "2", "-n"}, {"true"})}.how == "exit code 1");
      first.signal(SIGTERM);
      CHECK(first.end() == "exit code 143");
    }
    SUBCASE("several paths") {
      const auto other = fresh_path();
      run first{run_at(path, {"--path", other}, shell("echo in; sleep 1000"))};
      CHECK(first.hear() == "in");
      CHECK(ended_run{run_at(path, {"-n"}, {"true"})}.how == "exit code 1");
      CHECK(ended_run{run_at(other, {"-n"}, {"true"})}.how == "exit code 1");
      const auto free = fresh_path();
      CHECK(has(ended_run{run_at(free, {"-n", "--path", other}, {"true"})}.err, other + ": lock held by"));
      const ended_run any{run_at(other, {"--any", "--path", fresh_path()}, shell("echo $LATCHKEY_INDEX"))};
      CHECK(any.out == "1\n");
      first.signal(SIGTERM);
      CHECK(first.end() == "exit code 143");
    }
    SUBCASE("any of several: the report names the one that was held") {
      temporary_folder folder;
      const auto file = (folder / "report").string();
      run first{run_at(path, {}, shell("echo in; sleep 1000"))};
      CHECK(first.hear() == "in");
      const auto free = fresh_path();
      CHECK(ended_run{run_at(path, {"--any", "--path", free, "--report", file}, {"true"})}.how == "exit code 0");
      std::ifstream report{file};
      CHECK(json::parse(report)["path"] == free);
      CHECK(ended_run{run_at(free, {"-n", "-w", "1s"}, {"true"})}.how == "exit code 64");
      first.signal(SIGTERM);
      CHECK(first.end() == "exit code 143");
    }
    SUBCASE("a report to a pipe that no one reads") {
      temporary_folder folder;
      const auto file = (folder / "pipe").string();
      REQUIRE(::mkfifo(file.c_str(), 0600) == 0);
      const ended_run one{run_at(path, {"--report", file}, {"true"})};
      CHECK(one.how == "exit code 0");
      CHECK(has(one.err, "cannot write"));
    }
    SUBCASE("a candidate") {
      run first{run_at(path, {"--elect", "me"}, shell("echo in; sleep 1000"))};
      CHECK(first.hear() == "in");
      const ended_run leader{{"leader", path, "-c", servers().connect_string()}};
      CHECK(has(leader.out, "me"));
      first.signal(SIGTERM);
      CHECK(first.end() == "exit code 143");
    }
  }

  TEST_CASE("with --peers a run tells the next one by a datagram, and no sequencer is given out") {
    const auto path = fresh_path();
    temporary_folder folder;
    const auto numbers = (folder / "second.prom").string();
    auto options = quiet();
    options.peers = peer_options{.listen = "127.0.0.1:0"};
    client owner{servers().connect_string(), options};
    mutex lock{owner, path, {.how = hand_off::direct}};
    proxy network{servers().addresses()};
    run first{{"run", "-c", network.connect_string(), "--path", path, "--peers", "--", "sh", "-c",
               "echo ${LATCHKEY_SEQUENCER-none}; exec sleep 1000"}};
    CHECK(first.hear() == "none");
    auto next = std::async(std::launch::async, [&] { return lock.acquire(); });
    REQUIRE(eventually([&] { return owner.metrics().peers->acknowledged == 1; }));
    network.black_hole_to_servers();  // so the deletion cannot come before the datagram
    first.signal(SIGTERM);
    auto held = next.get();
    CHECK(owner.metrics().peers->admitted == 1);
    network.heal();
    CHECK(first.end() == "exit code 143");
    run second{run_at(path, {"--peers", "127.0.0.1:0", "--textfile", numbers}, {"true"})};
    REQUIRE(eventually([&] { return contenders_at(owner, path) == 2; }));
    held.release();
    CHECK(second.end() == "exit code 0");
    std::ifstream file{numbers};
    const std::string text{std::istreambuf_iterator<char>{file}, {}};
    CHECK(has(text, "latchkey_peer_subscriptions_total{run=\"second\"} "));
    CHECK(ended_run{run_at(path, {"--peers", "-s"}, {"true"})}.how == "exit code 64");
    CHECK(ended_run{run_at(path, {"--peers", "1.1.1.1:0,1.1.1.1:1,1.1.1.1:2"}, {"true"})}.how == "exit code 64");
  }

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

  TEST_CASE("a limit of zero is none") {
    CHECK(end_of({"--max-hold", "0", "-k", "0"}, shell("sleep 0.1; exit 4")) == "exit code 4");
    const ended_run too_long{run_at(fresh_path(), {"--grace", "10h"}, {"true"})};
    CHECK(too_long.how == "exit code 64");
    CHECK(has(too_long.err, "--grace 10h00m needs a session of 2d"));
  }

  TEST_CASE("a semaphore of another size is told what to do on the command line") {
    const auto path = fresh_path();
    CHECK(ended_run{run_at(path, {"--semaphore", "2"}, {"true"})}.how == "exit code 0");
    const ended_run other{run_at(path, {"--semaphore", "3"}, {"true"})};
    CHECK(other.how == "exit code 64");
    CHECK(has(other.err, "give --semaphore that number"));
  }

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

  TEST_CASE("a grace that needs a longer session says so") {
    const ended_run longer{run_at(fresh_path(), {"--grace", "5s"}, {"true"})};
    CHECK(longer.how == "exit code 0");
    CHECK(has(longer.err, "--grace 5s needs a session timeout of 28s"));
    CHECK(ended_run{run_at(fresh_path(), {"--grace", "1s"}, {"true"})}.err.empty());
  }

  TEST_CASE("a candidate without an identity has the name of its host") {
    const auto path = fresh_path();
    run leads{run_at(path, {"--elect", "-n"}, shell("echo leads; exec sleep 1000"))};
    REQUIRE(leads.hear() == "leads");
    client other{servers().connect_string(), quiet()};
    std::array<char, 256> name{};
    REQUIRE(::gethostname(name.data(), name.size() - 1) == 0);
    const queue_snapshot queue{other, path};
    REQUIRE(queue.holders().size() == 1);
    CHECK(queue.holders()[0].data == name.data());
    leads.signal(SIGTERM);
    CHECK(leads.end() == "exit code 143");
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

  TEST_CASE("a lock that is lost while --hold-for keeps it is told of") {
    const auto path = fresh_path();
    run one{run_at(path, {"--hold-for", "1h"}, {"echo", "done"})};
    CHECK(one.hear() == "done");
    client owner{servers().connect_string(), quiet()};
    REQUIRE(evict(owner, path, servers().children(path).at(0)));
    CHECK(one.end() == "exit code 0");
    CHECK(has(one.err, "lost before the time of --hold-for was over: node deleted"));
  }

  TEST_CASE("what a run above has told its command is not told on") {
    const ended_run one{run_at(fresh_path(), {"--any", "--path", fresh_path()},
                               with({LATCHKEY_COMMAND}, run_at(fresh_path(), {"--peers", "127.0.0.1:0"}, {"env"})))};
    CHECK(one.how == "exit code 0");
    CHECK_FALSE(has(one.out, "LATCHKEY_INDEX"));
    CHECK_FALSE(has(one.out, "LATCHKEY_SEQUENCER"));
    CHECK(has(one.out, "LATCHKEY_FENCE"));
  }

  TEST_CASE("a command that runs it again at its own path waits for itself, and is told so") {
    const auto path = fresh_path();
    const auto again = [&](const arguments& options, const std::string& at) {
      return ended_run{run_at(path, {}, with({LATCHKEY_COMMAND}, run_at(at, options, {"true"})))};
    };
    const auto warning = "this is run by a command that holds " + path;
    const auto in_vain = again({"-w", "300ms"}, path);
    CHECK(in_vain.how == "exit code 1");
    CHECK(has(in_vain.err, warning));
    const auto elsewhere = again({"-w", "30s"}, fresh_path());
    CHECK(elsewhere.how == "exit code 0");
    CHECK_FALSE(has(elsewhere.err, warning));
    CHECK_FALSE(has(again({"-n"}, path).err, warning));  // that says who holds it
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

  TEST_CASE("while --hold-for keeps the lock nothing is done") {
    run one{run_at(fresh_path(), {"--hold-for", "1s"}, {"echo", "done"})};
    CHECK(one.hear() == "done");
    const auto ticks = [&] {
      std::ifstream file{"/proc/" + std::to_string(one.pid()) + "/stat"};
      std::string text;
      std::getline(file, text);
      std::istringstream rest{text.substr(text.rfind(')') + 2)};
      std::string skipped;
      for (int field = 3; field < 14; ++field) rest >> skipped;
      long user = 0;
      long system = 0;
      rest >> user >> system;
      return user + system;
    };
    long used = 0;
    for (long now = ticks(); now != 0; now = ticks()) {
      used = now;
      std::this_thread::sleep_for(10ms);
      if (processes_with("--hold-for") == 0) break;
    }
    CHECK(one.end() == "exit code 0");
    CHECK(used < ::sysconf(_SC_CLK_TCK) / 4);
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

  TEST_CASE("runs behind one another start in the order of their arrival") {
    const auto path = fresh_path();
    const temporary_folder folder;
    const auto file = (folder / "order").string();
    client owner{servers().connect_string(), quiet()};
    mutex lock{owner, path};
    auto held = lock.acquire();
    std::string expected;
    std::vector<std::unique_ptr<run>> all;
    for (int i = 0; i < 20; ++i) {
      const auto number = std::to_string(i);
      all.push_back(std::make_unique<run>(run_at(path, {}, shell("echo " + number + " >> " + file))));
      REQUIRE(eventually([&] { return contenders_at(owner, path) == all.size() + 1; }));
      expected += number + "\n";
    }
    held.release();
    for (const auto& each : all) CHECK(each->end() == "exit code 0");
    std::ifstream written{file};
    CHECK(std::string{std::istreambuf_iterator<char>{written}, {}} == expected);
  }

  TEST_CASE("many runs leave no node and no process") {
    const auto path = fresh_path();
    const auto* const given = std::getenv("LATCHKEY_RUNS");
    const int count = given != nullptr ? std::stoi(given) : 20;
    for (int i = 0; i < count; ++i) CHECK(ended_run{run_at(path, {"-n"}, shell(": " + path))}.how == "exit code 0");
    CHECK(servers().children(path).empty());
    CHECK(eventually([&] { return processes_with(path) == 0; }));
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

  TEST_CASE("in the background of a terminal a command that reads it fails, and does not stop") {
    in_terminal one{{"sh", "-mc", "\"$@\" & wait $!; echo ended $?", "sh", LATCHKEY_COMMAND, "run", "-c",
                     servers().connect_string(), "--path", fresh_path(), "--", "cat"}};
    CHECK(one.shows("ended 1"));
    CHECK(one.exit_code() == 0);
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
