// SPDX-License-Identifier: Apache-2.0
/// A process that forks while it holds locks: `forking_process CONNECT PATH`. It says what went wrong, in parent and
/// children, and exits with 0 if nothing did.

#include <latchkey/any_lock.hpp>
#include <latchkey/fair_mutex.hpp>
#include <latchkey/keyed_mutex.hpp>
#include <latchkey/multi_lock.hpp>
#include <latchkey/mutex.hpp>
#include <latchkey/queue_snapshot.hpp>
#include <latchkey/reentrant_mutex.hpp>
#include <latchkey/shared_mutex.hpp>

#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

namespace {

bool is_child = false;

}  // namespace

/// For LeakSanitizer: what only the threads of the parent refer to would count as leaked in a child.
extern "C" int __lsan_is_turned_off() { return is_child ? 1 : 0; }

namespace {

using namespace std::chrono_literals;

constexpr int rounds = 20;
constexpr unsigned patience = 60;  // seconds, until a child that hangs is killed

/// Threads that lock and unlock at the moments of the forks, so that the client's threads, too, are busy then.
#ifdef __SANITIZE_ADDRESS__
constexpr int users = 0;  // GCC 12's ASan leaves the locks of its allocator as they are at a fork: the child would hang
#else
constexpr int users = 3;
#endif

bool failed = false;

void check(bool holds, const char* what) {
  if (holds) return;
  failed = true;
  std::cout << "not so: " << what << std::endl;
}

/// `call` must throw `errc::closed`, and say why.
template <class Callable>
void check_closed(const char* what, Callable call) {
  try {
    call();
  } catch (const latchkey::error& thrown) {
    check(thrown.code() == latchkey::errc::closed && std::strstr(thrown.what(), "fork") != nullptr, what);
    return;
  }
  check(false, what);
}

struct locks {
  locks(latchkey::client& owner, const std::string& path)
      : plain{owner, path + "/plain"},
        again{owner, path + "/again"},
        written{owner, path + "/written"},
        read{owner, path + "/read"},
        fair{owner, path + "/fair"},
        busy{owner, path + "/busy"},
        guarded{owner, path + "/guarded"},
        guarded_again{owner, path + "/guarded-again"},
        guarded_read{owner, path + "/guarded-read"},
        group{owner, {{path + "/group-a"}, {path + "/group-b"}}},
        any{owner, {path + "/any-a", path + "/any-b"}},
        keyed{owner, path + "/keyed"} {}

  void take() {
    plain.lock();
    again.lock();
    written.lock();
    read.lock_shared();
    fair.lock();
    place.emplace(fair.enqueue());
    guards.push_back(guarded.acquire());
    guards.push_back(guarded_again.acquire());
    guards.push_back(guarded_read.acquire_shared());
    guards.push_back(group.acquire());
    guards.push_back(any.acquire());
    guards.push_back(keyed.lock("a"));
  }
  void give_back() {
    for (auto& each : guards) {
      check(bool{each}, "the parent still holds its guards");
      each.release();
    }
    place.reset();
    fair.unlock();
    read.unlock_shared();
    written.unlock();
    again.unlock();
    plain.unlock();
  }

  latchkey::mutex plain;
  latchkey::reentrant_mutex again;
  latchkey::shared_mutex written;
  latchkey::shared_mutex read;
  latchkey::fair_mutex fair;
  latchkey::mutex busy;
  latchkey::mutex guarded;
  latchkey::reentrant_mutex guarded_again;
  latchkey::shared_mutex guarded_read;
  latchkey::multi_lock group;
  latchkey::any_lock any;
  latchkey::keyed_mutex keyed;
  std::vector<latchkey::guard> guards;
  std::optional<latchkey::ticket> place;
};

void check_calls(latchkey::client& owner, locks& all) {
  check_closed("lock", [&] { all.plain.lock(); });
  check_closed("try_lock", [&] { (void)all.plain.try_lock(); });
  check_closed("try_lock_for", [&] { (void)all.busy.try_lock_for(1s); });
  check_closed("lock again", [&] { all.again.lock(); });
  check_closed("unlock_checked", [&] { all.again.unlock_checked(); });
  check_closed("lock, stopped", [&] {
    std::stop_source stop;
    stop.request_stop();
    (void)all.plain.lock(stop.get_token());
  });
  check_closed("downgrade", [&] { all.written.downgrade(); });
  check_closed("lock_shared", [&] { all.written.lock_shared(); });
  check_closed("try_lock_shared", [&] { (void)all.read.try_lock_shared(); });
  check_closed("enqueue", [&] { (void)all.fair.enqueue(); });
  check_closed("ahead", [&] { (void)all.place->ahead(); });
  check_closed("wait", [&] { all.place->wait(); });
  check_closed("place_lost", [&] { (void)all.place->place_lost(); });
  check_closed("requeue", [&] { all.place->requeue(); });
  check_closed("wait_for_connection", [&] { (void)owner.wait_for_connection(1s); });
  check_closed("queue_snapshot", [&] { latchkey::queue_snapshot{owner, "/a"}; });
  check_closed("ask_to_release", [&] { latchkey::ask_to_release(owner, "/a"); });
  check_closed("a key", [&] { (void)all.keyed.try_lock("b"); });
  check(all.keyed.objects() == 0, "no keys");
  check_closed("a new lock", [&] {
    latchkey::mutex one{owner, "/a"};
    one.lock();
  });
  check_closed("a new fair lock", [&] {
    latchkey::fair_mutex one{owner, "/a"};
    one.lock();
  });
  check_closed("lock a group", [&] { all.group.lock(); });
  check_closed("try_lock of any", [&] { (void)all.any.try_lock(); });
  check_closed("a new group", [&] {
    latchkey::multi_lock one{owner, {{"/a"}}};
    one.lock();
  });
  check(!all.any.index(), "none of several locks is held");
  check(!owner.connected(), "not connected");
  check(owner.session_id() == 0, "no session");
}

void check_grant(const latchkey::grant& grant) {
  check(!grant, "a grant of the parent is false");
  check(grant.valid_until() == latchkey::boottime_clock::time_point{}, "it has ended");
  check(grant.loss() == latchkey::loss_reason::client_closed, "it says why");
  check(grant.wait_for_end(1h), "its end is not waited for");
  check(grant.stop_token().stop_requested(), "its work is to stop");
  check(!grant.asked_to_release(), "it is not asked to release");
  check(!grant.release_token().stop_requested(), "nor by the token");
}

/// @returns whether the child is to end the way a program does, or to destroy everything first.
void in_child(std::unique_ptr<latchkey::client>& owner, std::unique_ptr<locks>& all, const latchkey::grant& grant,
              bool destroys) {
  ::alarm(patience);
  check_grant(grant);
  check_calls(*owner, *all);
  check(!all->plain.held() && !all->again.held() && !all->written.held() && !all->read.held_shared(), "nothing held");
  all->plain.unlock();
  all->again.unlock();
  all->written.unlock();
  all->read.unlock_shared();
  all->fair.unlock();
  for (auto& each : all->guards) {
    check(!each, "nor with a guard");
    const auto moved = std::move(each);
  }
  check_closed("acquire", [&] { (void)all->guarded.acquire(); });
  check_closed("acquire again", [&] { (void)all->guarded_again.acquire(); });
  check_closed("acquire_shared", [&] { (void)all->guarded_read.acquire_shared(); });
  if (!destroys) return;
  all->place.reset();
  all.reset();
  owner->close();
  owner.reset();
}

latchkey::client_options options() {
  latchkey::client_options result;
  result.session_timeout = 20s;
  return result;
}

/// @returns whether the child has exited with 0.
bool exits_well(pid_t child) {
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  const std::string connect_string = argv[1];
  const std::string path = argv[2];
  static auto owner = std::make_unique<latchkey::client>(connect_string, options());  // for exit() to destroy
  static auto all = std::make_unique<locks>(*owner, path);
  all->take();
  const auto grant = all->plain.held();
  const auto session = owner->session_id();

  std::atomic<bool> done{false};
  std::vector<std::thread> threads;
  for (int i = 0; i < users; ++i) {
    threads.emplace_back([&] {
      while (!done) {
        all->busy.lock();
        all->busy.unlock();
        all->keyed.lock("busy").release();
      }
    });
  }
  for (int round = 0; round < rounds; ++round) {
    std::cout.flush();
    const auto child = ::fork();
    is_child = child == 0;
    if (is_child) {
      in_child(owner, all, grant, round % 2 == 0);
      std::exit(failed ? 1 : 0);
    }
    check(exits_well(child), "a child exits well");
  }
#ifndef __SANITIZE_THREAD__  // which does not allow it
  const auto child = ::fork();
  is_child = child == 0;
  if (is_child) {
    ::alarm(patience);
    {
      latchkey::client own{connect_string, options()};
      latchkey::mutex lock{own, path + "/child"};
      check(lock.try_lock_for(30s), "a child may have a client of its own");
      lock.unlock();
    }
    std::exit(failed ? 1 : 0);
  }
  check(exits_well(child), "a child with a client of its own exits well");
#endif
  done = true;
  for (auto& each : threads) each.join();
  check(bool{grant}, "the parent still holds the lock");
  check(owner->session_id() == session, "in the same session");
  const latchkey::queue_snapshot queue{*owner, path + "/plain"};
  check(queue.holders().size() == 1 && queue.holders()[0].session == session, "and has its node");
  check(all->place->ahead() == 1, "the place in line is kept");
  all->give_back();
  return failed ? 1 : 0;
}
