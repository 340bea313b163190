// SPDX-License-Identifier: Apache-2.0
/// That the command is dead before another contender has the lock of `latchkey run`, under real faults.

#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <fstream>
#include <map>
#include <optional>
#include <sstream>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include <latchkey/clock.hpp>
#include <latchkey/mutex.hpp>
#include <latchkey/queue_snapshot.hpp>
#include <latchkey/testing/proxy.hpp>

#include "run_program.hpp"

namespace latchkey::testing {
namespace {

/// The file that scribe.cpp writes.
class scroll {
 public:
  explicit scroll(std::string file) : file_{std::move(file)} {}

  struct writer {
    std::int64_t first = 0;
    std::int64_t last = 0;
  };
  /// @returns when each token was written with, in nanoseconds of CLOCK_BOOTTIME.
  std::map<std::string, writer> writers() const {
    std::map<std::string, writer> found;
    for_each_line([&](const std::string& token, std::int64_t time) {
      auto& one = found[token];
      if (one.first == 0) one.first = time;
      one.first = std::min(one.first, time);
      one.last = std::max(one.last, time);
    });
    return found;
  }
  /// @returns of the lines that a comparison of tokens refuses when each was written: those behind one with a larger token.
  std::vector<std::int64_t> refused() const {
    std::vector<std::int64_t> found;
    std::string largest;
    for_each_line([&](const std::string& token, std::int64_t time) {
      if (token < largest) found.push_back(time);
      largest = std::max(largest, token);
    });
    return found;
  }
  bool has_writers(std::size_t count) const {
    return eventually([&] { return writers().size() >= count; });
  }
  /// @returns by how much the last line of each holder is older than the first of the next; the least of all.
  std::int64_t least_gap() const {
    std::int64_t least = INT64_MAX;
    std::optional<writer> before;
    for (const auto& [token, one] : writers()) {  // text order is token order
      if (before) least = std::min(least, one.first - before->last);
      before = one;
    }
    return least;
  }

 private:
  template <class Callable>
  void for_each_line(Callable take) const {
    std::ifstream file{file_};
    // A line across two pages of the file may be seen when half of it is written: then it has no end.
    for (std::string line; std::getline(file, line) && !file.eof();) {
      std::istringstream words{line};
      std::string token;
      std::int64_t time = 0;
      words >> token >> time;
      take(token, time);
    }
  }

  std::string file_;
};

int child_named(int parent, const std::string& name) {
  const auto process = "/proc/" + std::to_string(parent);
  std::ifstream children{process + "/task/" + std::to_string(parent) + "/children"};
  for (int child = 0; children >> child;) {
    std::ifstream file{"/proc/" + std::to_string(child) + "/comm"};
    std::string comm;
    if (std::getline(file, comm) && comm == name) return child;
  }
  return 0;
}

/// A process that is stopped for most of the time.
class starved {
 public:
  explicit starved(int pid)
      : starving_{[this, pid](const std::stop_token& over) {
          while (!over.stop_requested()) {
            ::kill(pid, SIGSTOP);
            std::this_thread::sleep_for(95ms);
            ::kill(pid, SIGCONT);
            std::this_thread::sleep_for(5ms);
            ++rounds_;
          }
        }} {}
  bool for_rounds(int count) const {
    return eventually([&] { return rounds_ >= count; });
  }

 private:
  std::atomic<int> rounds_ = 0;
  std::jthread starving_;
};

/// A run whose command writes, behind a network that may fail.
struct first_run {
  static constexpr std::chrono::seconds usual_timeout{2};

  /// @param how its tree is contained
  explicit first_run(const std::string& how, std::chrono::seconds session_timeout = usual_timeout)
      : first{with({"run", "-c", network.connect_string(), "-T", std::to_string(session_timeout.count()), "--path",
                    path, "--contain", how, "--"},
                   command)} {
    REQUIRE(written.has_writers(1));
    guard = child_named(first.pid(), "latchkey-guard");
    REQUIRE(guard > 0);
  }

  /// Returns when another run waits behind this one. On a busy machine this one may lose its lock before that: then the
  /// fault comes too late, but the order of the lines counts all the same.
  void await_the_next(client& by) {
    REQUIRE(eventually([&] { return contenders_at(by, path) == 2 || written.writers().size() == 2; }));
    if (written.writers().size() == 1) return;
    MESSAGE("lost before the fault");
    lost_before = true;
  }
  void check_end(const std::string& expected) { CHECK(first.end() == (lost_before ? "exit code 75" : expected)); }

  /// Neither has time to kill what is left. (A stopped guard goes on once its runner is dead: its group is an orphan.)
  void kill_both() {
    ::kill(first.pid(), SIGSTOP);
    ::kill(guard, SIGSTOP);
    ::kill(guard, SIGKILL);
    ::kill(first.pid(), SIGKILL);
  }

  const std::string path = fresh_path();
  const temporary_folder folder{};
  const std::string file = (folder / "scroll").string();
  const scroll written{file};
  proxy network{servers().addresses()};
  const arguments command{LATCHKEY_SCRIBE, file};
  run first;
  int guard = 0;
  bool lost_before = false;
};

}  // namespace

TEST_SUITE("latchkey run under faults") {
  TEST_CASE("the command is dead before the next has the lock") {
    first_run w{"tree"};
    const int main_process = w.first.pid();
    run second{run_at(w.path, {"--contain", "tree"}, w.command)};  // its own session outlives a busy machine
    client owner{servers().connect_string(), quiet()};
    w.await_the_next(owner);

    std::string expected = "exit code 75";
    SUBCASE("its client is cut off") { w.network.black_hole(); }
    SUBCASE("what its client sends does not arrive") { w.network.black_hole_to_servers(); }
    SUBCASE("what is sent to its client does not arrive") { w.network.black_hole_to_clients(); }
    SUBCASE("the runner gets the processor for moments only, and is cut off") {
      const starved hungry{main_process};
      CHECK(hungry.for_rounds(20));
      w.network.black_hole();
      CHECK(w.written.has_writers(2));
    }
    SUBCASE("the runner is killed") {
      ::kill(main_process, SIGKILL);
      expected = "signal 9";
    }
    SUBCASE("the runner is stopped past its lease, and goes on") {
      ::kill(main_process, SIGSTOP);
      CHECK(w.written.has_writers(2));
      ::kill(main_process, SIGCONT);
    }
    SUBCASE("the group of the runner is stopped past its lease, and goes on") {
      ::kill(-main_process, SIGSTOP);
      CHECK(w.written.has_writers(2));
      ::kill(-main_process, SIGCONT);
    }
    SUBCASE("the group of the runner is killed") {
      ::kill(-main_process, SIGKILL);
      expected = "signal 9";
    }
    SUBCASE("the guard is killed") {
      ::kill(w.guard, SIGKILL);
      expected = "exit code 125";
    }
    SUBCASE("its client is cut off, and its session is ended from outside once the lease is over") {
      std::optional<std::int64_t> session;
      if (!w.lost_before) session = queue_snapshot{owner, w.path}.contenders().front().session;
      w.network.black_hole();
      std::this_thread::sleep_for(first_run::usual_timeout);  // the servers end it up to a tick later, if not now
      if (session) servers().expire(*session);
    }
    SUBCASE("the guard is stopped, and its client is cut off") {
      ::kill(w.guard, SIGSTOP);
      w.network.black_hole();
    }
    CHECK(w.written.has_writers(2));
    const auto gap = w.written.least_gap();
    MESSAGE("the last line of the first is older than the first of the second by " << gap / 1000 << " us");
    CHECK(gap > 0);
    w.check_end(expected);
    second.signal(SIGTERM);  // the scribe ignores it
    w.network.heal();
    const queue_snapshot seen{owner, w.path};
    for (const auto& who : seen.contenders()) evict(owner, w.path, who.node);
    CHECK(second.end() == "exit code 75");
    CHECK(eventually([&] { return contenders_at(owner, w.path) == 0; }));
  }

  TEST_CASE("a run that is stopped with its guard and command past the lease ends as soon as they go on") {
    first_run w{"tree"};
    const auto all = all_with(w.file);
    CHECK(all.size() == 4);  // and a grandchild
    run second{run_at(w.path, {"--contain", "tree"}, w.command)};
    client owner{servers().connect_string(), quiet()};
    w.await_the_next(owner);
    for (const auto each : all) ::kill(each, SIGSTOP);
    REQUIRE(w.written.has_writers(2));
    const auto going_on = boottime_clock::now().time_since_epoch().count();
    for (auto each = all.rbegin(); each != all.rend(); ++each) ::kill(*each, SIGCONT);  // the runner and the guard last
    w.check_end("exit code 75");
    const auto refused = w.written.refused();
    for (const auto each : refused) {
      CHECK(each - going_on < std::int64_t{200'000'000});  // what the guard keeps of the lease to kill
    }
    MESSAGE(refused.size() << " late lines, for " << (refused.empty() ? 0 : (refused.back() - going_on) / 1000)
                           << " us; their token is too small");
    second.signal(SIGKILL);
    second.end();
  }

  TEST_CASE(
      "the command is dead before the next has the lock, in a control group also if runner and guard are killed") {
    if (!has_cgroups()) return;
    first_run w{"cgroup"};
    std::optional<run> second;
    client owner{servers().connect_string(), quiet()};
    std::string expected = "signal 9";
    SUBCASE("while the next waits") {
      second.emplace(run_at(w.path, {}, w.command));
      w.await_the_next(owner);
      w.kill_both();
    }
    SUBCASE("before the next begins to wait") {
      w.kill_both();
      CHECK(eventually([&] { return processes_with(w.file) == 1; }));  // the grandchild goes on
      second.emplace(run_at(w.path, {"-T", "2s", "-n", "--session-file", "none"}, {"true"}));
      CHECK(second->end() == "exit code 1");
      CHECK(processes_with(w.file) == 0);
      second.emplace(run_at(w.path, {}, w.command));
    }
    SUBCASE("before another user begins to wait, who may not kill it") {
      w.kill_both();
      const std::vector<std::string> as_nobody{"/usr/bin/setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"};
      child_process may{with(as_nobody, {"/usr/bin/test", "-x", LATCHKEY_COMMAND})};
      if (may.wait(time_to_end) == "exit code 0") {
        child_process other{with(with(as_nobody, {LATCHKEY_COMMAND}), run_at(fresh_path(), {"-n"}, {"true"}))};
        CHECK(other.wait(time_to_end) == "exit code 0");
        CHECK(processes_with(w.file) == 1);
      } else {
        MESSAGE("not run: there is no other user who may run the command");
      }
      second.emplace(run_at(w.path, {}, w.command));
    }
    SUBCASE("the runner alone is killed") {
      second.emplace(run_at(w.path, {}, w.command));
      ::kill(w.first.pid(), SIGKILL);
    }
    SUBCASE("its client is cut off") {
      second.emplace(run_at(w.path, {}, w.command));
      w.network.black_hole();
      expected = "exit code 75";
    }
    CHECK(w.written.has_writers(2));
    const auto gap = w.written.least_gap();
    MESSAGE("the last line of the first is older than the first of the second by " << gap / 1000 << " us");
    CHECK(gap > 0);
    w.check_end(expected);
    const queue_snapshot seen{owner, w.path};
    for (const auto& who : seen.contenders()) evict(owner, w.path, who.node);
    CHECK(second->end() == "exit code 75");
  }

  TEST_CASE("the command is dead before the next has the lock, if its server is cut off from the quorum") {
    announced_ensemble three{{.servers = 3, .quorum_proxies = true}};
    const auto leader = three.wait_for_leader(time_to_end);
    const auto mine = (leader + 1) % 3;
    const auto others = three.connect_string(leader) + "," + three.connect_string((leader + 2) % 3);
    temporary_folder folder;
    const auto file = (folder / "scroll").string();
    const scroll written{file};
    const auto run_on = [&](const std::string& where, const char* timeout) {
      return arguments{"run", "-c", where, "-T", timeout, "--path", "/lock", "--", LATCHKEY_SCRIBE, file};
    };
    run first{run_on(three.connect_string(mine), "2s")};
    REQUIRE(written.has_writers(1));
    run second{run_on(others, "10s")};  // it is not to lose the lock on a busy machine
    client owner{others, quiet()};
    REQUIRE(eventually([&] { return contenders_at(owner, "/lock") == 2; }));
    three.isolate(mine);
    CHECK(written.has_writers(2));
    const auto gap = written.least_gap();
    MESSAGE("the last line of the first is older than the first of the second by " << gap / 1000 << " us");
    CHECK(gap > 0);
    CHECK(first.end() == "exit code 75");
    second.signal(SIGKILL);
    second.end();
  }

  /// LATCHKEY_RUNS: so many.
  TEST_CASE(
      "after the runner was killed the next run of this host has the lock at once, and never beside the command") {
    const auto path = fresh_path();
    const temporary_folder folder;
    const auto file = (folder / "scroll").string();
    const scroll written{file};
    const auto* const given = std::getenv("LATCHKEY_RUNS");
    const int count = given != nullptr ? std::stoi(given) : 10;
    for (int i = 1; i <= count; ++i) {
      const auto begun = std::chrono::steady_clock::now();
      run one{run_at(path, {"-T", "40s"}, {LATCHKEY_SCRIBE, file})};
      REQUIRE(written.has_writers(static_cast<std::size_t>(i)));
      CHECK(std::chrono::steady_clock::now() - begun < 20s);  // its session would end later
      one.signal(SIGKILL);
    }
    const auto gap = written.least_gap();
    MESSAGE("the last line of each is older than the first of the next by " << gap / 1000 << " us, or more");
    CHECK(gap > 0);
    CHECK(eventually([&] { return processes_with(file) == 0; }));
    CHECK(ended_run{run_at(path, {"-n"}, {"true"})}.how == "exit code 0");
  }

  TEST_CASE("its session is not ended while a process of its tree lives") {
    first_run w{"tree", 40s};
    w.kill_both();
    REQUIRE(eventually([&] { return processes_with(w.file) == 1; }));
    const auto next = run_at(w.path, {"-n", "--contain", "tree"}, {"true"});
    CHECK(ended_run{next}.how == "exit code 1");
    for (const auto each : all_with(w.file)) ::kill(each, SIGKILL);
    REQUIRE(eventually([&] { return processes_with(w.file) == 0; }));
    CHECK(ended_run{next}.how == "exit code 0");
  }

  TEST_CASE("release ends the session of a run that was killed, and of none that lives") {
    const temporary_folder folder;
    const auto path = fresh_path();
    run one{run_at(path, {"-T", "40s", "--session-file", (folder / "").string()}, {"sleep", "1000"})};
    REQUIRE(eventually([&] { return servers().children(path).size() == 1; }));
    const auto file = (folder / ("run-" + std::to_string(one.pid()) + ".session").c_str()).string();
    const auto refused = result{{"release", file}};
    CHECK(refused.how == "exit code 1");
    CHECK(has(refused.err, "the process " + std::to_string(one.pid()) + " still runs; end it first"));
    const auto pid = one.pid();
    one.signal(SIGKILL);
    CHECK(one.end() == "signal 9");
    const result done{{"release", "--json", file}};
    CHECK(done.how == "exit code 0");
    CHECK(done.object() == json{{"ended", 1}, {"expired", 0}, {"pid", pid}});
    CHECK(servers().children(path).empty());
    CHECK(result{{"release", file}}.out == "no session is left\n");
    CHECK(result{{"release", (folder / "none").string()}}.how == "exit code 2");
  }

  TEST_CASE(
      "a run that ends by itself leaves nothing in the folder of its session file, and says if that cannot be used") {
    const temporary_folder folder;
    const auto at = (folder / "").string();
    const ended_run one{run_at(fresh_path(), {"--session-file", at}, shell("ls " + at))};
    CHECK(one.how == "exit code 0");
    CHECK(has(one.out, ".session"));
    CHECK(has(one.out, ".tree"));
    CHECK(std::filesystem::is_empty(at));
    const auto count = shell("ls $XDG_RUNTIME_DIR/latchkey | wc -l");
    const auto others = std::stoi(ended_run{run_at(fresh_path(), {"--session-file", at}, count)}.out);
    CHECK(std::stoi(ended_run{run_at(fresh_path(), {}, count)}.out) == others + 2);
    CHECK(std::stoi(ended_run{run_at(fresh_path(), {"--session-file", "none"}, count)}.out) == others);
    const ended_run wrong{run_at(fresh_path(), {"--session-file", at + "missing"}, {"echo", "ran"})};
    CHECK(wrong.how == "exit code 64");
    CHECK(wrong.out == "");
    CHECK(has(wrong.err, "--session-file"));
  }
}

}  // namespace latchkey::testing
