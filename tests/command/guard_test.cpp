// SPDX-License-Identifier: Apache-2.0
/// The guard of `latchkey run` alone: real processes, and no ensemble.

#include <doctest/doctest.h>

#include <poll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "channel.hpp"
#include "guard.hpp"
#include "tree.hpp"

namespace command {
namespace {

using namespace std::chrono_literals;

constexpr auto time_to_end = 60s;

std::int64_t in(std::chrono::nanoseconds time) {
  timespec now{};
  ::clock_gettime(CLOCK_BOOTTIME, &now);
  return std::int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec + time.count();
}

/// A guard of a shell command, and this process as its runner.
class guarded {
 public:
  explicit guarded(const std::string& script, leftover rest = leftover::wait) {
    ::prctl(PR_SET_CHILD_SUBREAPER, 1);
    guarded_command what{.file = "/bin/sh", .arguments = {"sh", "-c", script}, .rest = rest, .grace = 50ms};
    sigemptyset(&what.signals);
    std::array<int, 2> pair{};
    REQUIRE(::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair.data()) == 0);
    id_ = ::fork();
    if (id_ == 0) {
      sigset_t all;
      sigfillset(&all);
      ::sigprocmask(SIG_BLOCK, &all, nullptr);
      ::close(pair[0]);
      run_as_guard(pair[1], what);
    }
    ::close(pair[1]);
    channel_ = pair[0];
  }
  ~guarded() {
    hang_up();
    while (!reap([](pid_t, int) {})) kill_below_me();
  }
  guarded(const guarded&) = delete;
  guarded& operator=(const guarded&) = delete;

  void say(const packet& what) const { CHECK(send_packet(channel_, what)); }
  /// Under a lease that outlasts the test.
  void start() { start({.until = in(time_to_end), .kill_before = 0}); }
  void start(const terms& with) {
    say({.what = word::start, .with = with, .text = std::string{"GIVEN=text\0", 11}});
    const auto said = hear();
    REQUIRE(said);
    REQUIRE(said->what == word::started);
  }
  std::optional<packet> hear() const {
    pollfd one{channel_, POLLIN, 0};
    REQUIRE(::poll(&one, 1, std::chrono::milliseconds{time_to_end}.count()) == 1);
    return receive_packet(channel_);
  }
  /// @returns the status of the command.
  int ended() const {
    const auto said = hear();
    REQUIRE(said);
    REQUIRE(said->what == word::ended);
    return static_cast<int>(said->value);
  }
  bool empty() const {
    const auto said = hear();
    return said && said->what == word::empty;
  }
  void hang_up() {
    if (channel_ >= 0) ::close(std::exchange(channel_, -1));
  }
  pid_t id() const noexcept { return id_; }

 private:
  pid_t id_ = -1;
  int channel_ = -1;
};

template <class Predicate>
bool eventually(Predicate what) {
  const auto end = std::chrono::steady_clock::now() + time_to_end;
  while (!what()) {
    if (std::chrono::steady_clock::now() > end) return false;
    std::this_thread::sleep_for(1ms);
  }
  return true;
}

std::size_t count_below() { return processes_below_me().size(); }

/// A process of a session of its own that ignores SIGTERM, and whose parent is gone.
const std::string escapes = "(setsid sh -c 'trap : TERM; while :; do sleep 1; done' &) ; ";

}  // namespace

TEST_SUITE("guard") {
  TEST_CASE("a command has its environment, and its status is told before the tree is empty") {
    guarded one{"test \"$GIVEN\" = text && exit 7"};
    one.start();
    const int status = one.ended();
    CHECK(WIFEXITED(status));
    CHECK(WEXITSTATUS(status) == 7);
    CHECK(one.empty());
  }

  TEST_CASE("a command that ignores SIGTERM is killed when the lease runs out, whoever else it has started") {
    guarded one{"trap : TERM; " + escapes + "while :; do sleep 1; done"};
    one.start({.until = in(300ms), .kill_before = 0, .signal_before = (200ms / 1ns), .signal = SIGTERM});
    const int status = one.ended();
    CHECK(in(0s) >= in(-1ms));
    CHECK(WIFSIGNALED(status));
    CHECK(WTERMSIG(status) == SIGKILL);
    const auto last = one.hear();
    REQUIRE(last);
    CHECK(last->what == word::empty);
    CHECK(last->value == 1);  // for the lease
    CHECK(eventually([] { return reap([](pid_t, int) {}); }));
  }

  TEST_CASE("a command is killed so long before the end of the lease as killing may take") {
    guarded one{"sleep 1000"};
    const auto until = in(time_to_end);
    one.start({.until = until, .kill_before = (time_to_end - 300ms) / 1ns});
    CHECK(WTERMSIG(one.ended()) == SIGKILL);
    CHECK(in(0s) < until - 10s / 1ns);
    CHECK(one.empty());
  }

  TEST_CASE("a command is asked to end before it is killed") {
    guarded one{"trap 'exit 3' TERM; while :; do sleep 0.01; done"};
    one.start({.until = in(time_to_end + 1s), .kill_before = 0, .signal_before = time_to_end / 1ns, .signal = SIGTERM});
    const int status = one.ended();
    CHECK(WIFEXITED(status));
    CHECK(WEXITSTATUS(status) == 3);
    CHECK(one.empty());
  }

  TEST_CASE("a lease that is extended is not cut, and one that is lost is, at once") {
    guarded one{"sleep 1000"};
    one.start({.until = in(200ms), .kill_before = 0});
    const auto begun = std::chrono::steady_clock::now();
    while (std::chrono::steady_clock::now() - begun < 400ms) {
      one.say({.what = word::until, .with = {.until = in(10s)}});
      one.say({.what = word::until, .with = {.until = in(1ms)}});  // what was true before
      std::this_thread::sleep_for(5ms);
    }
    CHECK(count_below() >= 2);
    one.say({.what = word::until, .with = {.until = 0}});
    CHECK(WTERMSIG(one.ended()) == SIGKILL);
    CHECK(one.empty());
    CHECK(std::chrono::steady_clock::now() - begun < 9s);
  }

  TEST_CASE("when the runner is gone the tree is killed, and the guard ends") {
    guarded one{escapes + "sleep 1000"};
    one.start();
    CHECK(eventually([] { return count_below() >= 4; }));
    one.hang_up();
    CHECK(eventually([] { return reap([](pid_t, int) {}); }));
  }

  TEST_CASE("when the guard is killed, so is the command; the rest comes to the runner") {
    guarded one{escapes + "sleep 1000"};
    one.start();
    CHECK(eventually([] { return count_below() >= 4; }));
    ::kill(one.id(), SIGKILL);
    CHECK_FALSE(one.hear());
    CHECK(eventually([] {
      kill_below_me();
      return reap([](pid_t, int) {});
    }));
  }

  TEST_CASE("processes that outlive the command are waited for, ended, or left") {
    SUBCASE("waited for") {
      guarded one{"(sleep 0.2 &) ; exit 0"};
      one.start();
      CHECK(one.ended() == 0);
      CHECK(one.empty());
    }
    SUBCASE("ended, also if they ignore SIGTERM") {
      guarded one{escapes + "exit 0", leftover::end};
      one.start();
      CHECK(one.ended() == 0);
      const auto last = one.hear();
      REQUIRE(last);
      CHECK(last->what == word::empty);
      CHECK(last->value == 0);  // not for the lease
    }
    SUBCASE("left") {
      guarded one{"(sleep 1000 &) ; exit 0", leftover::leave};
      one.start();
      CHECK(one.ended() == 0);
      one.say({.what = word::leave});
      CHECK_FALSE(one.hear());
      CHECK(eventually([] { return count_below() == 1; }));  // it has come to this process
    }
  }

  TEST_CASE("a tree that forks all the time is killed, also where it leaves the group of the command") {
    // Each makes one that makes the next: the processes are new ones all the time, and never many.
    const std::string chain = "f() { sleep 0.001; f & } ; trap : TERM; ";
    const std::string script = "f() { sleep 0.001; f & } ; f; f; f";
    guarded one{chain + "f; f; f; setsid sh -c '" + script + "' & wait; sleep 1000"};
    one.start();
    CHECK(eventually([] { return count_below() >= 5; }));
    one.say({.what = word::kill});
    one.ended();
    CHECK(one.empty());
  }

  TEST_CASE("a guard that does not read holds up nobody") {
    std::array<int, 2> pair{};
    REQUIRE(::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair.data()) == 0);
    int sent = 0;
    while (sent < 100'000 && send_packet(pair[0], {.what = word::until})) ++sent;
    CHECK(sent > 0);
    CHECK(sent < 100'000);
    CHECK(receive_packet(pair[1]));
    for (const int each : pair) ::close(each);
  }

  TEST_CASE("what was said before the other end closed is heard, also if that had not read all") {
    std::array<int, 2> pair{};
    REQUIRE(::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair.data()) == 0);
    REQUIRE(send_packet(pair[0], {.what = word::until}));
    REQUIRE(send_packet(pair[1], {.what = word::ended}));
    REQUIRE(send_packet(pair[1], {.what = word::empty}));
    ::close(pair[1]);
    const auto first = receive_packet(pair[0]);
    REQUIRE(first);
    CHECK(first->what == word::ended);
    CHECK(receive_packet(pair[0]));
    CHECK_FALSE(receive_packet(pair[0]));
    ::close(pair[0]);
  }

  TEST_CASE("a command is not started under a lease that is over") {
    guarded one{"exit 1"};
    one.say({.what = word::start, .with = {.until = in(-1ms), .kill_before = 0}});
    const auto said = one.hear();
    REQUIRE(said);
    CHECK(said->what == word::empty);
    CHECK(said->value == 1);
  }

  TEST_CASE("the guard is in no group of others: what stops or kills the runner's does not reach it") {
    guarded one{"sleep 1000"};
    one.start();
    CHECK(::getpgid(one.id()) == one.id());
  }

  TEST_CASE("before the start nothing runs, whatever ends the wait") {
    guarded one{"exit 1"};
    SUBCASE("a kill") { one.say({.what = word::kill}); }
    SUBCASE("a stop") { one.say({.what = word::stop, .value = SIGTERM}); }
    SUBCASE("the end of the runner") { one.hang_up(); }
    CHECK(eventually([] { return reap([](pid_t, int) {}); }));
  }

  TEST_CASE("what cannot be executed is told with its reason") {
    guarded_command what{.file = "/nowhere/at/all", .arguments = {"all"}, .rest = {}, .grace = {}};
    sigemptyset(&what.signals);
    std::array<int, 2> pair{};
    REQUIRE(::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair.data()) == 0);
    if (::fork() == 0) run_as_guard(pair[1], what);
    ::close(pair[1]);
    CHECK(send_packet(pair[0], {.what = word::start, .with = {.until = in(time_to_end), .kill_before = 0}}));
    const auto said = receive_packet(pair[0]);
    REQUIRE(said);
    CHECK(said->what == word::not_started);
    CHECK(said->value == ENOENT);
    ::close(pair[0]);
    CHECK(eventually([] { return reap([](pid_t, int) {}); }));
  }
}

}  // namespace command
