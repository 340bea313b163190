// SPDX-License-Identifier: Apache-2.0
/// A process that ends while it still has a client: `exiting_process CONNECT PATH HOW`. See `ways`. It exits with 0 if
/// all goes well.

#include <latchkey/leader_view.hpp>
#include <latchkey/log.hpp>
#include <latchkey/mutex.hpp>
#include <latchkey/queue_snapshot.hpp>

#include <pthread.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <thread>

#ifndef LATCHKEY_WITHOUT_FIBERS
#include <boost/fiber/fiber.hpp>
#include <boost/fiber/operations.hpp>
#endif

namespace {

using namespace std::chrono_literals;

std::string connect_string;
std::string path;

latchkey::client_options options() {
  latchkey::client_options result;
  result.session_timeout = 20s;  // what is left behind is there long enough to be seen
  return result;
}

std::optional<latchkey::client> global;

latchkey::client& the_client() {
  static latchkey::client instance{connect_string, options()};
  return instance;
}

latchkey::mutex& the_lock() {
  static latchkey::mutex instance{the_client(), path};
  return instance;
}

void use(latchkey::mutex& lock) {
  lock.lock();
  if (!lock.held()) std::abort();
  lock.unlock();
}

/// Takes and releases the lock when it is destroyed.
struct user_at_the_end {
  ~user_at_the_end() { use(*lock); }
  latchkey::mutex* lock = nullptr;
};

/// Never destroyed.
struct everlasting {
  latchkey::client owner{connect_string, options()};
  latchkey::mutex lock{owner, path};
};

/// Lets fibers of this thread run that have nothing to do with latchkey: the thread then has a scheduler.
void run_own_fibers() {
#ifndef LATCHKEY_WITHOUT_FIBERS
  boost::fibers::fiber{[] { boost::this_fiber::yield(); }}.join();
#endif
}

/// The main thread waits for the lock; another one, which has not called latchkey before, exits.
void exit_beside_a_waiter(bool with_fibers) {
  static auto& holder = *new everlasting;
  static std::atomic<bool> waits{false};
  holder.lock.lock();
  std::thread{[with_fibers] {
    if (with_fibers) run_own_fibers();
    waits.wait(false);
    std::exit(0);
  }}.detach();
  std::thread{[] {
    while (latchkey::queue_snapshot{holder.owner, path}.waiters().empty()) std::this_thread::sleep_for(1ms);
    waits = true;
    waits.notify_all();
  }}.detach();
  static auto& lock = *new latchkey::mutex{the_client(), path};  // not to be destroyed while a call waits
  try {
    lock.lock();
  } catch (const latchkey::error& closed) {
    while (closed.code() == latchkey::errc::closed) ::pause();
  }
}

void global_client() {
  global.emplace(connect_string, options());
  latchkey::mutex lock{*global, path};
  use(lock);
}

void local_static() { use(the_lock()); }

void holding() { the_lock().lock(); }

void never_waited() {
  the_client();
  run_own_fibers();
}

void used_by_another_thread() {
  run_own_fibers();
  std::thread{[] { use(the_lock()); }}.join();
}

void in_an_observer() {
  auto with = options();
  static std::atomic<bool> made{false};
  with.observer = [](const latchkey::client_event&) {
    made.wait(false);
    std::exit(0);
  };
  static latchkey::client instance{connect_string, with};
  made = true;
  made.notify_all();
  for (;;) ::pause();
}

void thread_locals() {
  static auto& all = *new everlasting;
  std::thread{[] {
    thread_local user_at_the_end before{&all.lock};
    use(all.lock);
    thread_local user_at_the_end after{&all.lock};
    (void)after;
  }}.join();
  std::thread{[] {  // which has not called latchkey before
    thread_local user_at_the_end only{&all.lock};
    (void)only;
  }}
      .join();
  std::thread{[] {  // nor has this one, which has had a scheduler
    thread_local user_at_the_end before_fibers{&all.lock};
    (void)before_fibers;
    run_own_fibers();
  }}
      .join();
  thread_local user_at_the_end of_main{&all.lock};
  use(all.lock);
  static_cast<void>(all.owner.wait_for_connection(1s));
}

#ifndef LATCHKEY_WITHOUT_FIBERS
/// Fibers that run on when the function of their thread has returned: Boost ends them in a destructor of that thread.
void detached_fibers() {
  static auto& all = *new everlasting;
  static auto& held = *new latchkey::mutex{all.owner, path + "-held"};
  static std::atomic<int> ended{0};
  const auto end_late = [](auto&& body) {
    boost::fibers::fiber{[body] {
      boost::this_fiber::sleep_for(20ms);
      body();
      ++ended;
    }}.detach();
  };
  const auto take_turns = [&] {
    for (int i = 0; i < 4; ++i) {
      end_late([] {
        const std::lock_guard lock{all.lock};
        boost::this_fiber::sleep_for(5ms);
      });
    }
  };
  std::thread{[&] { take_turns(); }}.join();  // has not called latchkey before
  if (ended != 4) std::abort();
  std::thread{[&] {
    use(all.lock);
    take_turns();
    boost::fibers::fiber{[] {  // locks before its thread ends, and unlocks later
      const std::lock_guard lock{held};
      boost::this_fiber::sleep_for(20ms);
      if (!held.held()) std::abort();
    }}
        .detach();
    while (!held.held()) boost::this_fiber::yield();
    boost::fibers::fiber{[] { use(held); }}.detach();  // waits when its thread ends
  }}.join();
  if (ended != 8) std::abort();
  use(all.lock);
  use(held);
}
#endif

void locking_static() {
  the_lock();
  static user_at_the_end after_main{&the_lock()};
  use(the_lock());
}

void say_errors() {
  latchkey::set_log_sink([](latchkey::log_level level, std::string_view line) {
    if (level == latchkey::log_level::error) std::cout << line << std::endl;
  });
}

void throwing_leader_view() {
  say_errors();
  latchkey::client owner{connect_string, options()};
  const latchkey::leader_view view{owner, path,
                                   [](const latchkey::leader_sighting&) { throw std::runtime_error{"a bad day"}; }};
  for (;;) ::pause();
}

void throwing_stop_callback() {
  say_errors();
  latchkey::client owner{connect_string, options()};
  latchkey::mutex lock{owner, path};
  lock.lock();
  const std::stop_callback on_stop{lock.held().stop_token(), [] { throw std::runtime_error{"a bad day"}; }};
  latchkey::evict(owner, path, latchkey::queue_snapshot{owner, path}.holders()[0].node);
  for (;;) ::pause();
}

void throwing_observer() {
  say_errors();
  auto with = options();
  with.observer = [](const latchkey::client_event& event) {
    if (event.what == latchkey::client_event::kind::asked_to_release) throw std::runtime_error{"a bad day"};
  };
  latchkey::client owner{connect_string, with};
  latchkey::mutex lock{owner, path};
  lock.lock();
  const auto grant = lock.held();
  (void)grant.asked_to_release();  // begins to watch
  latchkey::ask_to_release(owner, path);
  for (;;) ::pause();
}

/// A signal handler that the main thread runs while it waits for the lock.
void stopped_by_signal() {
  static auto& holder = *new everlasting;
  static std::stop_source stop;
  holder.lock.lock();
  std::signal(SIGTERM, [](int) { stop.request_stop(); });
  std::thread{[waiter = ::pthread_self(), id = ::gettid()] {
    while (latchkey::queue_snapshot{holder.owner, path}.waiters().empty()) std::this_thread::sleep_for(1ms);
    for (std::string state; state != "S";) {
      std::ifstream stat{"/proc/self/task/" + std::to_string(id) + "/stat"};
      std::string skipped;
      stat >> skipped >> skipped >> state;
    }
    ::pthread_kill(waiter, SIGTERM);
  }}.detach();
  latchkey::client owner{connect_string, options()};
  latchkey::mutex lock{owner, path};
  if (const auto held = lock.acquire(stop.get_token())) std::abort();
}

const std::map<std::string, void (*)()> ways{
    {"global client", &global_client},
    {"local static", &local_static},
    {"holding", &holding},
    {"never waited", &never_waited},
    {"used by another thread", &used_by_another_thread},
    {"exit beside a waiter", [] { exit_beside_a_waiter(false); }},
    {"exit beside a waiter, after fibers", [] { exit_beside_a_waiter(true); }},
    {"in an observer", &in_an_observer},
    {"thread locals", &thread_locals},
    {"locking static", &locking_static},
#ifndef LATCHKEY_WITHOUT_FIBERS
    {"detached fibers", &detached_fibers},
#endif
    {"throwing observer", &throwing_observer},
    {"throwing leader view", &throwing_leader_view},
    {"throwing stop callback", &throwing_stop_callback},
    {"stopped by signal", &stopped_by_signal},
};

}  // namespace

/// "stopped by signal" does what no handler should: the thread that it interrupts waits, and holds nothing.
extern "C" const char* __tsan_default_options() { return "report_signal_unsafe=0"; }

int main(int argc, char** argv) {
  if (argc != 4) return 2;
  connect_string = argv[1];
  path = argv[2];
  ways.at(argv[3])();
}
