// SPDX-License-Identifier: Apache-2.0
/// A mutex that tells its next owner if the last one did not unlock it: real processes and sessions.

#include <latchkey/robust_mutex.hpp>

#include <signal.h>

#include <atomic>
#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <latchkey/fair_mutex.hpp>
#include <latchkey/mutex.hpp>
#include <latchkey/queue_snapshot.hpp>
#include <latchkey/session_file.hpp>
#include <latchkey/testing/child_process.hpp>
#include <latchkey/testing/raw_client.hpp>
#include <latchkey/transaction.hpp>

#include "error_of.hpp"
#include "support/reached.hpp"
#include "temporary_folder.hpp"

namespace latchkey::testing {
namespace {

struct stage {
  const std::string path = fresh_path();
  client here{servers().connect_string(), quick(20s)};
  robust_mutex lock{here, path};

  std::vector<std::string> holder(std::chrono::milliseconds session, const std::string& file = {}) const {
    std::vector<std::string> command{HOLDER_PROCESS, servers().connect_string(), path, std::to_string(session.count()),
                                     "robust"};
    if (!file.empty()) command.push_back(file);
    return command;
  }
  struct owner {
    int pid;
    std::string token;
  };
  static owner started(child_process& process) {
    const auto line = process.hear(patience()).value_or("nothing");
    REQUIRE(line.starts_with("held "));
    return {process.pid(), line.substr(line.find(' ') + 1)};
  }
  /// The lock is had, and told of that process; then all is in order.
  void check_told_of(const owner& who) {
    REQUIRE(lock.try_lock_for(patience()));
    const auto dead = lock.abandoned();
    REQUIRE(dead);
    CHECK(dead->pid == who.pid);
    CHECK(to_string(dead->fence) == who.token);
    CHECK(dead->label == "holder_process");
    CHECK_FALSE(dead->host.empty());
    CHECK(dead->session != 0);
    CHECK(dead->fence < lock.held().fence());
    lock.recovered();
    lock.unlock();
    REQUIRE(queued(path, 0));
    CHECK(lock.try_lock_for(patience()));
    CHECK_FALSE(lock.abandoned());
    lock.unlock();
  }
};

}  // namespace

TEST_SUITE("robust mutex") {
  TEST_CASE_FIXTURE(stage, "the next owner is told of a process that was killed, or stopped for too long") {
    for (const int how : {SIGKILL, SIGSTOP}) {
      CAPTURE(how);
      child_process process{holder(4s)};
      const auto who = started(process);
      process.signal(how);
      check_told_of(who);
      if (how == SIGSTOP) process.signal(SIGCONT);
    }
  }

  TEST_CASE_FIXTURE(
      stage, "with a session file the next run of a process is told of the last, long before its session would end") {
    const temporary_folder folder;
    child_process process{holder(long_session, folder / "session")};
    const auto who = started(process);
    process.kill();
    CHECK(end_left_sessions(folder / "session").ended == 1);
    check_told_of(who);
  }

  TEST_CASE_FIXTURE(stage,
                    "a process that ends in order is not told of; one that returns from main while it holds is") {
    child_process process{holder(long_session)};
    started(process);
    REQUIRE(process.say("unlock"));
    CHECK(process.hear(patience()) == "unlocked");
    process.hang_up();
    CHECK(process.wait(patience()) == "exit code 0");
    REQUIRE(lock.try_lock_for(patience()));
    CHECK_FALSE(lock.abandoned());
    lock.unlock();
    REQUIRE(queued(path, 0));
    process.start(holder(long_session));
    const auto who = started(process);
    process.hang_up();
    CHECK(process.wait(patience()) == "exit code 0");
    REQUIRE(lock.try_lock_for(patience()));
    REQUIRE(lock.abandoned());
    CHECK(to_string(lock.abandoned()->fence) == who.token);
    lock.unlock();
  }

  TEST_CASE_FIXTURE(stage, "an owner that is evicted, holds for too long, or is destroyed while it holds is told of") {
    client other{servers().connect_string(), quick(20s)};
    {
      robust_mutex theirs{other, path};
      theirs.lock();
      CHECK(evict(here, path, queue_at(path).front()));
      REQUIRE(lock.try_lock_for(patience()));
      REQUIRE(lock.abandoned());
      CHECK_FALSE(lock.abandoned()->why);
      theirs.unlock();
      lock.recovered();
      lock.unlock();
    }
    REQUIRE(queued(path, 0));
    {
      robust_mutex theirs{other, path, {.max_hold = 100ms}};
      theirs.lock();
      REQUIRE(lock.try_lock_for(patience()));
      REQUIRE(lock.abandoned());
      CHECK(lock.abandoned()->why == loss_reason::held_too_long);
      lock.recovered();
      lock.unlock();
      theirs.unlock();
    }
    REQUIRE(queued(path, 0));
    {
      robust_mutex theirs{other, path};
      theirs.lock();
    }
    REQUIRE(lock.try_lock_for(patience()));
    CHECK(lock.abandoned());
    lock.unlock();
  }

  TEST_CASE_FIXTURE(stage, "an unlock that does not reach the ensemble before its session ends is told as a death") {
    reached_by_proxy there{quick(4s)};
    robust_mutex theirs{there.owner, path};
    theirs.lock();
    const auto fence = theirs.held().fence();
    there.net.cut();
    theirs.unlock();
    REQUIRE(lock.try_lock_for(patience()));
    REQUIRE(lock.abandoned());
    CHECK(lock.abandoned()->fence == fence);
    there.net.heal();
    lock.unlock();
  }

  TEST_CASE_FIXTURE(stage, "a short outage while it is unlocked is no death") {
    reached_by_proxy there{quick(20s)};
    robust_mutex theirs{there.owner, path};
    theirs.lock();
    there.net.cut();
    theirs.unlock();
    there.net.heal();
    REQUIRE(lock.try_lock_for(patience()));
    CHECK_FALSE(lock.abandoned());
    lock.unlock();
  }

  TEST_CASE_FIXTURE(stage, "a lock delay keeps it for as long, and tries say no meanwhile") {
    client other{servers().connect_string(), quick(20s)};
    robust_mutex theirs{other, path, {.lock_delay = 2s}};
    client_options elsewhere = quick(20s);
    elsewhere.label = "another service";
    client third{servers().connect_string(), elsewhere};
    robust_mutex next{third, path};
    theirs.lock();
    REQUIRE(evict(here, path, queue_at(path).front()));
    CHECK_FALSE(next.try_lock());
    const auto begin = std::chrono::steady_clock::now();
    REQUIRE(next.try_lock_for(patience()));
    CHECK(std::chrono::steady_clock::now() - begin >= 2s - 100ms);
    next.unlock();
    theirs.unlock();
    CHECK(lock.try_lock_for(patience()));  // not in order, but the delay is over; and of the same label
    CHECK(lock.abandoned());
    lock.unlock();
  }

  TEST_CASE_FIXTURE(stage, "it excludes the owners of other locks at its path, which are not told of") {
    client other{servers().connect_string(), quick(20s)};
    mutex plain{other, path};
    fair_mutex fair{other, path};
    lock.lock();
    CHECK_FALSE(plain.try_lock());
    CHECK_FALSE(fair.try_lock());
    CHECK(queue_snapshot{here, path}.contenders().size() == 1);
    lock.unlock();
    REQUIRE(plain.try_lock_for(patience()));
    CHECK_FALSE(lock.try_lock());
    REQUIRE(evict(here, path, queue_at(path).front()));
    REQUIRE(lock.try_lock_for(patience()));
    CHECK_FALSE(lock.abandoned());
    lock.unlock();
    plain.unlock();
  }

  TEST_CASE_FIXTURE(stage, "a transaction under its grant commits, and leaves the unlock to it") {
    lock.lock();
    const auto data = path + "-data";
    transaction work{here, lock.held()};
    work.create(data, "done");
    CHECK(work.commit_and_release().what == commit_result::outcome::committed);
    CHECK(lock.held());
    lock.unlock();
    REQUIRE(lock.try_lock_for(patience()));
    CHECK_FALSE(lock.abandoned());
    lock.unlock();
  }

  TEST_CASE("it costs one transaction more than a mutex, which its unlock is, too; a turn costs nothing") {
    const auto path = fresh_path();
    servers().create_all(path);
    counted here;
    robust_mutex lock{here.owner, path};
    lock.lock();
    CHECK(here.waited_for_since() == counts{{"create2", 1}, {"getChildren2", 1}, {"multi", 1}});
    lock.unlock();
    CHECK(queued(path, 0));
    CHECK(here.waited_for_since() == counts{{"multi", 1}});
    client other{servers().connect_string(), quick(20s)};
    robust_mutex theirs{other, path};
    theirs.lock();
    on_threads all;
    all.start([&] { lock.lock(); });
    REQUIRE(has_sent(here.net, opcode::get_data, 2));
    here.since();
    theirs.unlock();
    all.join();
    CHECK(here.since() == counts{{"multi", 1}});
    CHECK(queued(path, 1));
  }

  TEST_CASE_FIXTURE(stage, "who does not take the lock sees a death, too, until it is in order") {
    CHECK_FALSE(abandoned_at(here, path));
    child_process dying{holder(2s)};
    const auto who = started(dying);
    CHECK_FALSE(abandoned_at(here, path));
    dying.kill();
    REQUIRE(queued(path, 0));
    const auto dead = abandoned_at(here, path);
    REQUIRE(dead);
    CHECK(dead->pid == who.pid);
    CHECK(to_string(dead->fence) == who.token);
    lock.lock();
    CHECK(abandoned_at(here, path) == dead);  // its owner was told
    lock.unlock();
    CHECK(abandoned_at(here, path) == dead);
    lock.lock();
    lock.recovered();
    lock.unlock();
    REQUIRE(queued(path, 0));
    CHECK_FALSE(abandoned_at(here, path));
  }

  TEST_CASE_FIXTURE(stage, "a lock that passes on while it is asked for is not taken for that of a dead owner") {
    client other{servers().connect_string(), quick(20s)};
    robust_mutex theirs{other, path};
    std::atomic<bool> over = false;
    on_threads all;
    const auto use = [&](robust_mutex& mine) {
      while (!over) {
        mine.lock();
        mine.unlock();
      }
    };
    all.start([&] { use(lock); });
    all.start([&] { use(theirs); });
    client asking{servers().connect_string(), quick(20s)};
    for (int i = 0; i < 300; ++i) CHECK_FALSE(abandoned_at(asking, path));
    over = true;
    all.join();
  }

  TEST_CASE_FIXTURE(stage, "a record that nobody can read is that of somebody, and a bad path is refused") {
    servers().create_all(path);
    for (const std::string text : {"", "{", R"({"state":"held","node":"../x"})", R"({"state":"held","node":"a/b"})",
                                   R"({"state":"held","node":"\u0000"})"}) {
      CAPTURE(text);
      servers().create_all(path + "/robust-owner");
      servers().set(path + "/robust-owner", text);
      CHECK(abandoned_at(here, path) == dead_owner{});
      servers().remove(path + "/robust-owner");
    }
    CHECK(error_of([&] { abandoned_at(here, "no path"); }) == errc::bad_path);
  }

  TEST_CASE_FIXTURE(stage, "options that cannot be meant are refused") {
    CHECK(error_of([&] { robust_mutex{here, path, {.turns = 0}}; }) == errc::bad_option);
    CHECK(error_of([&] { robust_mutex{here, path, {.max_hold = -1s}}; }) == errc::bad_option);
    CHECK(error_of([&] { robust_mutex{here, path, {.lock_delay = -1s}}; }) == errc::bad_option);
    CHECK(error_of([&] { robust_mutex{here, path, {.lock_delay = 61s}}; }) == errc::bad_option);
    CHECK(error_of([&] { robust_mutex{here, "no path"}; }) == errc::bad_path);
  }
}

}  // namespace latchkey::testing
