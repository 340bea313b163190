// SPDX-License-Identifier: Apache-2.0
/// `latchkey run` on a real server: its options, its lock, its exit codes.

#include <doctest/doctest.h>

#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <future>
#include <iterator>
#include <memory>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include <latchkey/hand_off.hpp>
#include <latchkey/mutex.hpp>
#include <latchkey/queue_snapshot.hpp>
#include <latchkey/testing/proxy.hpp>

#include "run_program.hpp"

namespace latchkey::testing {

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

  TEST_CASE("a wait that is over while the ensemble does not answer is no conflict") {
    const auto path = fresh_path();
    client owner{servers().connect_string(), quiet()};
    mutex lock{owner, path};
    const auto held = lock.acquire();
    proxy network{servers().addresses()};
    run waits{{"run", "-c", network.connect_string(), "-T", "4s", "-w", "2s", "-E", "0", "--path", path, "--", "true"}};
    REQUIRE(eventually([&] { return contenders_at(owner, path) == 2; }));
    network.black_hole();
    CHECK(waits.end() == "exit code 69");
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

  TEST_CASE("a grace that needs a longer session says so") {
    const ended_run longer{run_at(fresh_path(), {"--grace", "5s"}, {"true"})};
    CHECK(longer.how == "exit code 0");
    CHECK(has(longer.err, "--grace 5s needs a session timeout of 28s"));
    CHECK(ended_run{run_at(fresh_path(), {"--grace", "1s"}, {"true"})}.err.empty());
    CHECK(ended_run{run_at(fresh_path(), {"--grace", "12500ms"}, {"true"})}.how == "exit code 0");
    const ended_run most{run_at(fresh_path(), {"--grace", "13s"}, {"true"})};  // the servers grant a minute
    CHECK(most.how == "exit code 64");
    CHECK(has(most.err, "1m00s, which leaves 12500ms for --grace; give a shorter one, or raise maxSessionTimeout"));
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
}

}  // namespace latchkey::testing
