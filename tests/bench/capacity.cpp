// SPDX-License-Identifier: Apache-2.0
// What many clients cost the servers: counts it with `mntr` on three real servers, and compares with the formulas of
// OPERATIONS.md. Prints the table there; the exit code is 1 if a number is off by more than 20 %.
//
//   bench_capacity [SESSIONS [T]]    default: 300 sessions with a session timeout of 10 s; takes four minutes
//
//   idle, ready   clients that hold nothing
//   idle          the same with `keep_lease_ready` off
//   holding       each client holds a lock of its own
//   waiting       all clients wait for one lock, behind a holder

#include <sys/resource.h>
#include <unistd.h>

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <fstream>
#include <memory>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <thread>
#include <tuple>
#include <vector>

#include <latchkey/client.hpp>
#include <latchkey/log.hpp>
#include <latchkey/mutex.hpp>
#include <latchkey/testing/ensemble.hpp>

namespace {

using namespace std::chrono_literals;
using latchkey::testing::ensemble;
using seconds = std::chrono::duration<double>;

/// What the servers have counted, all together, and what they hold now.
struct counts {
  std::chrono::steady_clock::time_point when = std::chrono::steady_clock::now();
  double packets = 0;
  double transactions = 0;
  double sessions = 0;
  double watches = 0;
  double ephemerals = 0;
  double bytes = 0;         // paths and data of all nodes
  double leader_cpu = 0;    // in seconds
  double follower_cpu = 0;  // of the busier one
};

/// @returns the processor time that a process has used, in seconds.
double cpu_of(int pid) {
  std::ifstream in{fmt::format("/proc/{}/stat", pid)};
  std::string word;
  double ticks = 0;
  for (int field = 1; field <= 15 && in >> word; ++field) {
    if (field >= 14) ticks += std::stod(word);
  }
  return ticks / static_cast<double>(::sysconf(_SC_CLK_TCK));
}

counts count(ensemble& servers) {
  counts now;
  for (std::size_t i = 0; i < servers.size(); ++i) {
    const auto seen = servers.admin(i).mntr();
    now.packets += static_cast<double>(seen.packets_received) - 1;  // without the one that asks
    now.watches += static_cast<double>(seen.watch_count);
    const auto cpu = cpu_of(servers.pid(i));
    if (seen.server_state != "leader") {
      now.follower_cpu = std::max(now.follower_cpu, cpu);
      continue;
    }
    now.leader_cpu = cpu;
    now.sessions = std::stod(seen.all.at("global_sessions"));
    now.ephemerals = static_cast<double>(seen.ephemerals_count);
    now.bytes = std::stod(seen.all.at("approximate_data_size"));
    now.transactions = static_cast<double>(servers.admin(i).srvr().zxid & 0xffffffff);
    now.packets -= 1;  // srvr
  }
  return now;
}

class report {
 public:
  report() { fmt::print("| state | what | formula | expected | measured |\n|---|---|---|---|---|\n"); }

  void add(const std::string& state, const std::string& what, const std::string& formula, double expected, double got) {
    const bool right = std::abs(got - expected) <= 0.2 * expected + 1e-9;
    all_right_ = all_right_ && right;
    fmt::print("| {} | {} | {} | {:.1f} | {:.1f}{} |\n", state, what, formula, expected, got, right ? "" : " (!)");
    std::fflush(stdout);
  }
  bool all_right() const noexcept { return all_right_; }

 private:
  bool all_right_ = true;
};

/// Clients, each with a lock.
struct fleet {
  std::vector<std::unique_ptr<latchkey::client>> clients;
  std::vector<std::unique_ptr<latchkey::mutex>> locks;

  template <class PathOf>
  fleet(ensemble& servers, std::size_t size, const latchkey::client_options& options, PathOf path_of) {
    for (std::size_t i = 0; i < size; ++i) {
      clients.push_back(std::make_unique<latchkey::client>(servers.connect_string(), options));
      if (!clients.back()->wait_for_connection(30s)) throw std::runtime_error{"no connection within 30 s"};
      locks.push_back(std::make_unique<latchkey::mutex>(*clients.back(), path_of(i)));
    }
  }
};

/// The rates of packets and transactions from now on, over some session timeouts.
struct rates {
  counts end;
  double packets = 0;
  double transactions = 0;

  rates(ensemble& servers, std::chrono::seconds T) {
    std::this_thread::sleep_for(T);  // until the requests of the beginning are over
    const auto begin = count(servers);
    std::this_thread::sleep_for(3 * T);
    end = count(servers);
    const auto time = seconds{end.when - begin.when}.count();
    packets = (end.packets - begin.packets) / time;
    transactions = (end.transactions - begin.transactions) / time;
    const auto percent = [time](double from, double to) { return 100 * (to - from) / time; };
    fmt::print(stderr, "cpu: leader {:.1f} %, follower {:.1f} % of a core\n", percent(begin.leader_cpu, end.leader_cpu),
               percent(begin.follower_cpu, end.follower_cpu));
  }
};

void measure_idle(report& to, ensemble& servers, double N, std::chrono::seconds T, bool ready) {
  const auto before = count(servers);
  const fleet all{
      servers, static_cast<std::size_t>(N), {.session_timeout = T, .keep_lease_ready = ready}, [](std::size_t i) {
        return fmt::format("/idle/{}", i);
      }};
  const rates seen{servers, T};
  const auto* const state = ready ? "idle, ready" : "idle";
  to.add(state, "sessions", "N", N, seen.end.sessions - before.sessions);
  to.add(state, "packets/s", ready ? "6 N / T" : "3 N / T", (ready ? 6 : 3) * N / static_cast<double>(T.count()),
         seen.packets);
  to.add(state, "watches", "0", 0, seen.end.watches - before.watches);
}

void measure_holding(report& to, ensemble& servers, double N, std::chrono::seconds T) {
  const auto before = count(servers);
  const fleet all{servers, static_cast<std::size_t>(N), {.session_timeout = T}, [](std::size_t i) {
                    return fmt::format("/held/{}", i);
                  }};
  std::vector<latchkey::guard> held;
  for (const auto& lock : all.locks) held.push_back(lock->acquire());
  const rates seen{servers, T};
  const auto timeout = static_cast<double>(T.count());
  to.add("holding", "packets/s", "12 N / T", 12 * N / timeout, seen.packets);
  to.add("holding", "transactions/s", "4 N / T", 4 * N / timeout, seen.transactions);
  to.add("holding", "watches", "N", N, seen.end.watches - before.watches);
  to.add("holding", "ephemeral nodes", "N", N, seen.end.ephemerals - before.ephemerals);
  to.add("holding", "bytes of path and data a lock", "170", 170, (seen.end.bytes - before.bytes) / N);
}

void measure_waiting(report& to, ensemble& servers, double N, std::chrono::seconds T) {
  const auto before = count(servers);
  const fleet all{
      servers, static_cast<std::size_t>(N) + 1, {.session_timeout = T, .report_waits_after = {}}, [](std::size_t) {
        return "/waited/for";
      }};
  auto held = all.locks.front()->acquire();
  std::stop_source stop;
  {
    std::vector<std::jthread> waiters;
    for (std::size_t i = 1; i < all.locks.size(); ++i) {
      waiters.emplace_back([&lock = *all.locks[i], token = stop.get_token()] { std::ignore = lock.lock(token); });
    }
    const rates seen{servers, T};
    to.add("waiting", "packets/s", "6 N / T", 6 * N / static_cast<double>(T.count()), seen.packets);
    to.add("waiting", "watches", "2 N", 2 * N, seen.end.watches - before.watches);
    to.add("waiting", "ephemeral nodes", "N", N, seen.end.ephemerals - before.ephemerals);
    stop.request_stop();
  }
}

}  // namespace

int main(int argc, char** argv) {
  rlimit files{};
  ::getrlimit(RLIMIT_NOFILE, &files);
  files.rlim_cur = files.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &files);
  const double N = argc > 1 ? std::stod(argv[1]) : 300;
  const std::chrono::seconds T{argc > 2 ? std::stoi(argv[2]) : 10};
  ensemble servers{{.tick = 2s}};
  report to;
  measure_idle(to, servers, N, T, true);
  measure_idle(to, servers, N, T, false);
  measure_holding(to, servers, N, T);
  measure_waiting(to, servers, N, T);
  return to.all_right() ? 0 : 1;
}
