// SPDX-License-Identifier: Apache-2.0
// How long does a lock survive an outage? Measures the lease that is left on three real servers with the default tick
// of 2 s, for session timeouts of 4, 6, 10 and 30 s, each with and without `server_tick`, and prints the rows of the table
// in OPERATIONS.md. Takes ten minutes, most of it waiting. An argument scales the number of rounds (default: 1).
//
//   cut off    the network of the client freezes at a random moment: the lease that is left then is all there is
//   restarted  the server of the client is stopped and started again
//   leader     the leader is killed, and comes back after the measurement
//
// For the last two: what is left when the lease grows again, of those clients whose connection was lost.

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <compare>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include <latchkey/client.hpp>
#include <latchkey/clock.hpp>
#include <latchkey/log.hpp>
#include <latchkey/mutex.hpp>
#include <latchkey/testing/ensemble.hpp>
#include <latchkey/testing/proxy.hpp>

namespace {

using namespace std::chrono_literals;
using latchkey::boottime_clock;
using latchkey::testing::ensemble;
using latchkey::testing::proxy;
using seconds = std::chrono::duration<double>;

constexpr std::array timeouts{4s, 6s, 10s, 30s};
constexpr auto longest = 30s;
constexpr auto tick = 2s;

/// Of a client.
struct settings {
  std::chrono::seconds timeout;
  bool knows_tick;

  auto operator<=>(const settings&) const = default;
};

/// Of one kind of outage and one session timeout.
struct samples {
  std::vector<double> left;  // in seconds
  int lost = 0;

  void add(seconds what, bool is_lost) {
    left.push_back(std::max(what.count(), 0.0));
    if (is_lost) ++lost;
  }
};
using table = std::map<settings, samples>;

/// A client that holds a lock.
struct holder {
  settings how;
  proxy net;
  latchkey::client owner;
  latchkey::mutex lock;
  latchkey::guard of_lock;
  latchkey::grant held;

  holder(ensemble& servers, const settings& with, std::string path)
      : how{with}, net{servers.addresses()}, owner{net.connect_string(), options_of(with)}, lock{owner, path} {
    hold();
  }
  static latchkey::client_options options_of(const settings& with) {
    latchkey::client_options options;
    options.session_timeout = with.timeout;
    if (with.knows_tick) options.server_tick = tick;
    return options;
  }
  void hold() {
    of_lock = {};
    of_lock = lock.acquire();
    held = of_lock.grant();
  }
};

std::vector<std::unique_ptr<holder>> holders(ensemble& servers, int each) {
  std::vector<std::unique_ptr<holder>> all;
  for (const auto T : timeouts) {
    for (int i = 0; i < 2 * each; ++i) {
      all.push_back(
          std::make_unique<holder>(servers, settings{T, i % 2 != 0}, fmt::format("/outages/{}-{}", T.count(), i)));
    }
  }
  return all;
}

/// Watches a lease through an outage, until it grows again. Adds what was left of it then, if there was an outage for
/// this client.
void watch(holder& of, const std::atomic<bool>& over, samples& into) {
  while (of.owner.connected()) {
    if (over) return;
    std::this_thread::sleep_for(1ms);
  }
  const auto until = of.held.valid_until();
  while (of.held && of.held.valid_until() == until) std::this_thread::sleep_for(1ms);
  into.add(until - boottime_clock::now(), !of.held);
}

template <class Fault, class Mend>
table measure(ensemble& servers, int rounds, Fault fault, Mend mend) {
  table all;
  auto each = holders(servers, 3);
  std::minstd_rand random{42};
  for (int round = 0; round < rounds; ++round) {
    // At a random moment between two proofs of the longest.
    std::this_thread::sleep_for(longest / 2 + longest / 4 * (random() % 1000) / 1000);
    std::atomic<bool> over{false};
    std::vector<samples> seen(each.size());
    std::vector<std::thread> watchers;
    for (std::size_t i = 0; i < each.size(); ++i) {
      watchers.emplace_back([&, i] { watch(*each[i], over, seen[i]); });
    }
    fault();
    std::this_thread::sleep_for(2s);  // whoever is concerned is told at once, as the connection is closed
    over = true;
    for (auto& thread : watchers) thread.join();
    mend();
    for (std::size_t i = 0; i < each.size(); ++i) {
      auto& into = all[each[i]->how];
      into.left.insert(into.left.end(), seen[i].left.begin(), seen[i].left.end());
      into.lost += seen[i].lost;
      if (!each[i]->held) each[i]->hold();
    }
  }
  return all;
}

/// The network freezes: what is left of the lease then, if the holder has it until its end.
table measure_cut_off(ensemble& servers, int rounds) {
  table all;
  auto each = holders(servers, 3);
  std::vector<std::thread> threads;
  std::vector<samples> seen(each.size());
  for (std::size_t i = 0; i < each.size(); ++i) {
    threads.emplace_back([&, i] {
      auto& of = *each[i];
      std::minstd_rand random{static_cast<unsigned>(i + 1)};
      for (int round = 0; round < rounds; ++round) {
        std::this_thread::sleep_for(of.how.timeout / 2 + of.how.timeout / 4 * (random() % 1000) / 1000.0);
        const auto began = boottime_clock::now();
        of.net.black_hole();
        of.held.wait_for_end(1h);
        seen[i].add(boottime_clock::now() - began, false);
        of.net.heal();
        of.hold();
      }
    });
  }
  for (auto& thread : threads) thread.join();
  for (std::size_t i = 0; i < each.size(); ++i) {
    auto& into = all[each[i]->how];
    into.left.insert(into.left.end(), seen[i].left.begin(), seen[i].left.end());
  }
  return all;
}

void print(const std::string& what, table all) {
  for (auto& [how, of] : all) {
    auto& left = of.left;
    if (left.empty()) continue;
    std::sort(left.begin(), left.end());
    fmt::print("| {} | {} s{} | {:.1f} s | {:.1f} s | {:.1f} s | {} of {} |\n", what, how.timeout.count(),
               how.knows_tick ? ", server_tick" : "", left.front(), left[left.size() / 2], left.back(), of.lost,
               left.size());
  }
  std::fflush(stdout);
}

}  // namespace

int main(int argc, char** argv) {
  latchkey::set_log_sink({});  // losses are what it is about
  const int rounds = 6 * (argc > 1 ? std::stoi(argv[1]) : 1);
  ensemble servers{{.tick = tick, .jvm_args = {"-Xmx256m"}}};
  fmt::print("| outage | T | worst | typical | best | lost |\n|---|---|---|---|---|---|\n");
  print("client cut off", measure_cut_off(servers, rounds));
  std::size_t next = 0;
  print("server restarted", measure(
                                servers, rounds,
                                [&] {
                                  const auto followers = servers.followers();
                                  const auto chosen = followers[next++ % followers.size()];
                                  servers.stop(chosen);
                                  servers.start(chosen);
                                },
                                [] {}));
  std::size_t leader = 0;
  print("leader lost", measure(
                           servers, rounds,
                           [&] {
                             leader = servers.wait_for_leader(30s);
                             servers.kill(leader);
                           },
                           [&] { servers.start(leader); }));
}
