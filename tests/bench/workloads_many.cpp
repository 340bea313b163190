// SPDX-License-Identifier: Apache-2.0
// Many callers who lock and unlock, without a pause, until the time is up.

#include <fmt/format.h>

#include <boost/fiber/operations.hpp>
#include <chrono>
#include <deque>
#include <numeric>
#include <random>
#include <thread>
#include <vector>

#include <latchkey/election.hpp>
#include <latchkey/fair_mutex.hpp>
#include <latchkey/keyed_mutex.hpp>
#include <latchkey/mutex.hpp>
#include <latchkey/shared_mutex.hpp>
#include <latchkey/transaction.hpp>

#include "fibers.hpp"
#include "workloads.hpp"

namespace bench {

namespace {

using namespace std::chrono_literals;

/// Until the time is up, and once after it.
/// @param hold how long, each time
template <class Lock, class Hold>
double cycle(Lock& lock, const time_is_up& over, Hold hold) {
  for (double count = 0;; ++count) {
    lock.lock();
    if (const auto time = hold(); time.count() != 0) std::this_thread::sleep_for(time);
    const bool last{over};
    lock.unlock();
    if (last) return count;
  }
}

template <class Lock>
double cycle(Lock& lock, const time_is_up& over) {
  return cycle(lock, over, [] { return 0ms; });
}

/// Creates the paths of the keys "0", "1" and so on, once.
void make_paths(latchkey::client& client, const std::string& root, std::uint32_t count) {
  latchkey::mutex maker{client, root + "/maker"};
  const auto held = maker.acquire();
  constexpr std::uint32_t at_once = 1000;
  for (std::uint32_t first = 0; first < count; first += at_once) {
    latchkey::transaction all{client, held.grant()};
    for (auto key = first; key < first + at_once; ++key) all.create(fmt::format("{}/{}", root, key));
    if (all.commit().what != latchkey::commit_result::outcome::committed) return;  // they are there
  }
}

double sum(const std::vector<double>& counts) { return std::accumulate(counts.begin(), counts.end(), 0.0); }

/// Sessions that share a path, with a thread each.
/// @param run one of them: called with its lock, when the time is up, and its number. @returns how often it had the lock
template <class Lock, class Options, class Run>
figures in_sessions(clients& all, const route& to, const char* path, double seconds, std::size_t count,
                    const Options& options, Run run) {
  std::deque<Lock> locks;
  for (std::size_t i = 0; i < count; ++i) locks.emplace_back(all.at(to, i), path, options);
  std::vector<double> counts(count);
  const time_is_up over{seconds};
  in_threads(count, [&](std::size_t i) { counts[i] = run(locks[i], over, i); });
  return rate_of(sum(counts), seconds, static_cast<double>(count));
}

template <class Run>
figures in_fair_sessions(clients& all, const route& to, double seconds, std::size_t count, Run run) {
  const auto path = fmt::format("/bench/latchkey/sessions_{}", count);
  return in_sessions<latchkey::fair_mutex>(all, to, path.c_str(), seconds, count,
                                           latchkey::fair_mutex_options{.how = all.how()}, run);
}

constexpr auto plain = [](auto& lock, const time_is_up& over, std::size_t) { return cycle(lock, over); };

}  // namespace

figures eight_sessions_hold(clients& all, const route& to, double seconds) {
  return in_fair_sessions(all, to, seconds, 8, [](auto& lock, const time_is_up& over, std::size_t) {
    return cycle(lock, over, [] { return 1ms; });
  });
}

figures eight_sessions_uneven(clients& all, const route& to, double seconds) {
  return in_fair_sessions(all, to, seconds, 8, [](auto& lock, const time_is_up& over, std::size_t number) {
    std::minstd_rand random{static_cast<std::minstd_rand::result_type>(number + 1)};
    return cycle(lock, over, [&] { return random() % 8 == 0 ? 50ms : 1ms; });
  });
}

figures eight_sessions_leaving(clients& all, const route& to, double seconds) {
  return in_fair_sessions(all, to, seconds, 8, [](auto& lock, const time_is_up& over, std::size_t number) {
    if (number % 2 == 0) return cycle(lock, over);
    std::minstd_rand random{static_cast<std::minstd_rand::result_type>(number)};
    double count = 0;
    while (!over) {
      if (!lock.try_lock_for(std::chrono::milliseconds{1 + random() % 20})) continue;
      ++count;
      lock.unlock();
    }
    return count;
  });
}

figures sessions(clients& all, const route& to, double seconds, std::size_t count) {
  return in_fair_sessions(all, to, seconds, count, plain);
}

figures elections_8(clients& all, const route& to, double seconds) {
  return in_sessions<latchkey::election>(all, to, "/bench/latchkey/elections_8", seconds, 8,
                                         latchkey::election_options{}, plain);
}

figures one_lock_64(clients& all, const route& to, double seconds) {
  latchkey::fair_mutex lock{all.at(to, 0), "/bench/latchkey/one_lock_64"};
  std::vector<double> counts(64);
  const time_is_up over{seconds};
  in_fibers(counts.size(), [&](std::size_t i) { counts[i] = cycle(lock, over); });
  return rate_of(sum(counts), seconds, static_cast<double>(counts.size()));
}

figures own_locks_256(clients& all, const route& to, double seconds) {
  std::deque<latchkey::mutex> locks;
  for (int i = 0; i < 256; ++i)
    locks.emplace_back(all.at(to, 0), fmt::format("/bench/latchkey/own_locks_256/{:03}", i));
  std::vector<double> counts(locks.size());
  const time_is_up over{seconds};
  in_fibers(locks.size(), [&](std::size_t i) { counts[i] = cycle(locks[i], over); });
  return rate_of(sum(counts), seconds, static_cast<double>(counts.size()));
}

namespace {

/// @param random_each whether each fiber takes a random key in every cycle, or has one of its own
figures of_keys(latchkey::client& client, const std::string& root, double seconds, bool random_each) {
  constexpr std::uint32_t keys = 100'000;
  latchkey::keyed_mutex locks{client, root};
  make_paths(client, root, keys);
  std::vector<double> counts(256);
  const time_is_up over{seconds};
  in_fibers(counts.size(), [&](std::size_t i) {
    std::minstd_rand random{static_cast<unsigned>(i) + 1};
    auto key = fmt::to_string(random() % keys);
    for (;; ++counts[i]) {
      auto held = locks.lock(key);
      const bool last{over};
      held.release();
      if (last) return;
      if (random_each) key = fmt::to_string(random() % keys);
    }
  });
  return rate_of(sum(counts), seconds, static_cast<double>(counts.size()));
}

}  // namespace

figures keys_256(clients& all, const route& to, double seconds) {
  return of_keys(all.at(to, 0), "/bench/latchkey/keys_256", seconds, false);
}

figures random_keys_256(clients& all, const route& to, double seconds) {
  return of_keys(all.at(to, 0), "/bench/latchkey/keys_256", seconds, true);
}

/// Each reader lets the others run while it reads, every 16th time: all of them read at once, and the switch between
/// fibers is not what is measured.
figures readers_32(clients& all, const route& to, double seconds) {
  latchkey::shared_mutex lock{all.at(to, 0), "/bench/latchkey/readers_32"};
  std::vector<double> counts(32);
  const time_is_up over{seconds};
  in_fibers(counts.size(), [&](std::size_t i) {
    for (;; ++counts[i]) {
      lock.lock_shared();
      if (static_cast<unsigned>(counts[i]) % 16 == 0) boost::this_fiber::yield();
      const bool last{over};
      lock.unlock_shared();
      if (last) return;
    }
  });
  return rate_of(sum(counts), seconds, static_cast<double>(counts.size()));
}

}  // namespace bench
