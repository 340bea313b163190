// SPDX-License-Identifier: Apache-2.0
// Threads that pass data on under each kind of lock, for a sanitizer that has not seen the library. With an argument they
// also touch something under no lock.

#include <latchkey/election.hpp>
#include <latchkey/fair_mutex.hpp>
#include <latchkey/keyed_mutex.hpp>
#include <latchkey/multi_lock.hpp>
#include <latchkey/reentrant_mutex.hpp>
#include <latchkey/robust_mutex.hpp>
#include <latchkey/semaphore.hpp>
#include <latchkey/shared_mutex.hpp>
#include <latchkey/testing/simulated_ensemble.hpp>

#include <chrono>
#include <cstdio>
#include <future>
#include <mutex>
#include <shared_mutex>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

namespace {

using namespace std::chrono_literals;

constexpr int rounds = 60;

/// Four threads, two for each object.
template <class Lock, class Turn>
void share(Lock& one, Lock& other, Turn turn) {
  std::vector<std::jthread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&, i] {
      for (int round = 0; round < rounds; ++round) turn(i % 2 == 0 ? one : other, round);
    });
  }
}

void pass_on(latchkey::client& one, latchkey::client& two) {
  int shared = 0;  // under whatever lock it is the turn of
  const auto with_guards = [&](auto& lock, int round) {
    const auto held = round % 3 != 0 ? lock.acquire() : lock.try_acquire_for(10s);
    if (held) ++shared;
  };
  const auto with_std = [&](auto& lock, int round) {
    if (round % 3 == 0) return with_guards(lock, round);
    const std::lock_guard held{lock};
    ++shared;
  };
  {
    latchkey::mutex a{one, "/mutex"};
    latchkey::mutex b{two, "/mutex"};
    share(a, b, with_std);
  }
  {
    latchkey::fair_mutex a{one, "/fair"};
    latchkey::fair_mutex b{two, "/fair"};
    share(a, b, with_std);
  }
  {
    latchkey::reentrant_mutex a{one, "/reentrant"};
    latchkey::reentrant_mutex b{two, "/reentrant"};
    share(a, b, with_std);
  }
  {
    latchkey::robust_mutex a{one, "/robust"};
    latchkey::robust_mutex b{two, "/robust"};
    share(a, b, with_std);
  }
  {
    latchkey::semaphore a{one, "/permit", 1};
    latchkey::semaphore b{two, "/permit", 1};
    share(a, b, with_guards);
  }
  {
    latchkey::keyed_mutex a{one, "/keys"};
    latchkey::keyed_mutex b{two, "/keys"};
    share(a, b, [&](auto& locks, int) {
      const auto held = locks.lock("key");
      ++shared;
    });
  }
  {
    latchkey::multi_lock a{one, {"/left", "/right"}};
    latchkey::multi_lock b{two, {"/right", "/left"}};
    share(a, b, with_guards);
  }
  {
    latchkey::shared_mutex a{one, "/shared"};
    latchkey::shared_mutex b{two, "/shared"};
    share(a, b, [&](auto& lock, int round) {
      if (round % 4 == 0) return with_std(lock, round);
      const std::shared_lock reads{lock};
      if (shared < 0) std::puts("never");
    });
  }
  std::printf("%d turns\n", shared);
}

/// What a callback of a loss reads was written before it was registered.
void lose(latchkey::testing::simulated_ensemble& servers) {
  int told = 0;
  latchkey::client_options options;
  options.observer = [&told](const latchkey::client_event& event) {
    if (event.what == latchkey::client_event::kind::lost) ++told;
  };
  latchkey::client client{servers, options};
  latchkey::mutex lock{client, "/lost"};
  const auto held = lock.acquire();
  std::promise<std::string> heard;
  const std::string words = "lost";
  const std::stop_callback on_loss{held.stop_token(), [&] { heard.set_value(words); }};
  servers.expire_session(client);
  std::puts(heard.get_future().get().c_str());
  client.close();
  std::printf("told %d times\n", told);
}

/// Work on a thread of its own, by which an election leads.
void lead(latchkey::client& client) {
  latchkey::election stands{client, "/leader"};
  std::stop_source end;
  int led = 0;
  stands.run(end.get_token(), [&](const auto&...) {
    ++led;
    end.request_stop();
  });
  std::printf("led %d times\n", led);
}

}  // namespace

int main(int argc, char**) {
  latchkey::testing::simulated_ensemble servers;
  {
    latchkey::client one{servers};
    latchkey::client two{servers};
    pass_on(one, two);
    lead(one);
  }
  lose(servers);
  if (argc > 1) {
    int unprotected = 0;
    const auto touch = [&] { ++unprotected; };
    std::jthread other{touch};
    touch();
  }
}
