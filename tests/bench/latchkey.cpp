// SPDX-License-Identifier: Apache-2.0
// The workloads on latchkey: bench_latchkey [--direct] ROUTE=HOST:PORT,... With --direct a release is told by datagram.

#include <chrono>
#include <functional>
#include <stdexcept>
#include <utility>

#include "workloads.hpp"

namespace bench {

using namespace std::chrono_literals;

std::unique_ptr<latchkey::client> connect(const std::string& host, latchkey::hand_off how) {
  latchkey::client_options options;
  if (how != latchkey::hand_off::ensemble) options.peers.emplace();
  auto client = std::make_unique<latchkey::client>(host, options);
  if (!client->wait_for_connection(10s)) throw std::runtime_error{"no session in 10 s"};
  return client;
}

latchkey::client& clients::at(const route& to, std::size_t index) {
  auto& all = known_[to.name];
  while (all.size() <= index) all.push_back(connect(to.host(all.size()), how_));
  return *all[index];
}

latchkey::mutex& clients::lingering(const route& to) {
  auto& lock = lingering_[to.name];
  if (!lock) {
    lock =
        std::make_unique<latchkey::mutex>(at(to, 0), "/bench/latchkey/relock", latchkey::mutex_options{.linger = 30s});
  }
  return *lock;
}

}  // namespace bench

int main(int argc, char** argv) {
  using namespace bench;
  std::vector<std::string> arguments{argv + 1, argv + argc};
  const bool direct = std::erase(arguments, "--direct") != 0;
  clients all{direct ? latchkey::hand_off::direct : latchkey::hand_off::ensemble};
  std::map<std::string, workload> workloads;
  const auto add = [&](const char* name, figures (*run)(clients&, const route&, double)) {
    workloads[name] = [&all, run](const route& to, double seconds) { return run(all, to, seconds); };
  };
  add("uncontended", uncontended);
  add("robust", robust);
  add("try_held", try_held);
  add("relock", relock);
  add("locked_write", locked_write);
  add("eight_sessions_hold", eight_sessions_hold);
  add("eight_sessions_uneven", eight_sessions_uneven);
  add("eight_sessions_leaving", eight_sessions_leaving);
  for (const auto& [name, count] : {std::pair{"eight_sessions", 8}, {"sessions_3", 3}, {"sessions_20", 20}}) {
    workloads[name] = [&all, count = static_cast<std::size_t>(count)](const route& to, double seconds) {
      return sessions(all, to, seconds, count);
    };
  }
  add("elections_8", elections_8);
  add("one_lock_64", one_lock_64);
  add("own_locks_256", own_locks_256);
  add("keys_256", keys_256);
  add("random_keys_256", random_keys_256);
  add("readers_32", readers_32);
  add("three_locks", three_locks);
  for (const std::size_t size : {1, 2, 4, 8}) {
    workloads["convoy_" + std::to_string(size)] = [&all, size](const route& to, double seconds) {
      return convoy(all, to, seconds, size);
    };
  }
  add("turns_64", turns_64);
  add("turns_64_outside", turns_64_outside);
  add("coroutine_turns_64", coroutine_turns_64);
  add("pool_turns_64", pool_turns_64);
  add("coroutines_10000", coroutines_10000);
  add("permit_free", permit_free);
  add("permits_8", permits_8);
  add("permit_turns", permit_turns);
  add("idle_10000", idle_10000);
  for (const std::size_t waiters : {10, 100, 1000, 10'000}) {
    workloads["hand_off_" + std::to_string(waiters)] = [&all, waiters](const route& to, double seconds) {
      return hand_off(all, to, seconds, waiters);
    };
  }
  return serve(arguments, workloads);
}
