// SPDX-License-Identifier: Apache-2.0
#include "server_nemesis.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <numeric>

namespace chaos {

using namespace std::chrono_literals;
using latchkey::testing::direction;
using latchkey::testing::link_fault;

void server_nemesis::run(const std::stop_token& stop) {
  while (!stop.stop_requested()) {
    sleep(dice_.between(500ms, 5'000ms), stop);
    if (stop.stop_requested()) return;
    try {
      strike(stop);
    } catch (const latchkey::testing::cluster_error& failure) {
      log_.tell("chaos", event_kind::note, fmt::format("a fault of the servers went wrong: {}", failure.what()));
      restore();
    }
  }
}

void server_nemesis::restore() {
  const ongoing fault{log_, "mend", "servers"};
  if (zookeeper_) zookeeper_->heal();
  for (std::size_t i = 0; i < servers_.size(); ++i) servers_.kill(i);
  for (std::size_t i = 0; i < servers_.size(); ++i) servers_.start(i);
  servers_.wait_for_quorum(60s);
}

void server_nemesis::strike(const std::stop_token& stop) {
  const auto time = dice_.some_time(4s);
  const auto victims = some_servers();
  if (!zookeeper_) return dice_.one_of(2) == 0 ? kill(victims, time, stop) : pause(victims, time, stop);
  const auto kind = dice_.one_of(17);
  if (kind < 1) return restart_all(stop);
  if (kind < 4) return kill(victims, time, stop);
  if (kind < 7) return pause(victims, time, stop);
  if (kind < 10) return isolate(victims, time, stop);
  if (kind < 13) return hold_back(victims, time, stop);
  if (kind < 15) return stall_disk(victims, time, stop);
  fill_disk(victims, time, stop);
}

void server_nemesis::kill(const std::vector<std::size_t>& victims, std::chrono::milliseconds time,
                          const std::stop_token& stop) {
  const ongoing fault{log_, "kill " + describe(victims), fmt::format("server {}", fmt::join(victims, ", "))};
  for (const auto each : victims) servers_.kill(each);
  sleep(time, stop);
  for (const auto each : victims) servers_.start(each);
  for (const auto each : victims) servers_.wait_until_serving(each, 60s);
}

void server_nemesis::pause(const std::vector<std::size_t>& victims, std::chrono::milliseconds time,
                           const std::stop_token& stop) {
  const ongoing fault{log_, "pause " + describe(victims), fmt::format("server {}", fmt::join(victims, ", "))};
  for (const auto each : victims) servers_.pause(each);
  sleep(time, stop);
  for (const auto each : victims) servers_.resume(each);
}

void server_nemesis::isolate(const std::vector<std::size_t>& victims, std::chrono::milliseconds time,
                             const std::stop_token& stop) {
  const auto how = dice_.one_of(3) == 0 ? link_fault::cut : link_fault::black_hole;
  const ongoing fault{log_, fmt::format("{} {}", how == link_fault::cut ? "cut" : "isolate", describe(victims)),
                      fmt::format("server {}", fmt::join(victims, ", "))};
  for (const auto each : victims) zookeeper_->isolate(each, how);
  sleep(time, stop);
  for (const auto each : victims) zookeeper_->heal(each);
}

/// Packets of one direction are late, by up to all the time. Half of the time no packet of the other direction passes
/// from the moment on when they arrive: what the leader or its followers would have learnt is never said.
void server_nemesis::hold_back(const std::vector<std::size_t>& victims, std::chrono::milliseconds time,
                               const std::stop_token& stop) {
  const bool to = dice_.one_of(2) == 0;
  const bool cut_off = dice_.one_of(2) == 0;
  const auto silence = dice_.some_time(2s);
  const auto late = to ? direction::incoming : direction::outgoing;
  const auto never = to ? direction::outgoing : direction::incoming;
  const ongoing fault{log_, fmt::format("hold back {} {}", to ? "to" : "from", describe(victims)),
                      fmt::format("server {}", fmt::join(victims, ", "))};
  for (const auto each : victims) zookeeper_->hold_back(each, late);
  sleep(time, stop);
  for (const auto each : victims) {
    if (cut_off) zookeeper_->hold_back(each, never);
    zookeeper_->release(each, late);
  }
  if (cut_off) sleep(silence, stop);
  for (const auto each : victims) zookeeper_->heal(each);
}

void server_nemesis::stall_disk(const std::vector<std::size_t>& victims, std::chrono::milliseconds time,
                                const std::stop_token& stop) {
  const ongoing fault{log_, "stall disk of " + describe(victims), fmt::format("server {}", fmt::join(victims, ", "))};
  for (const auto each : victims) zookeeper_->stall_disk(each);
  sleep(time, stop);
  for (const auto each : victims) zookeeper_->resume_disk(each);
}

/// When there is room again an operator starts every other one anew.
void server_nemesis::fill_disk(const std::vector<std::size_t>& victims, std::chrono::milliseconds time,
                               const std::stop_token& stop) {
  const bool starts = dice_.one_of(2) == 0;
  const ongoing fault{log_, "fill disk of " + describe(victims), fmt::format("server {}", fmt::join(victims, ", "))};
  for (const auto each : victims) zookeeper_->fill_disk(each);
  sleep(time, stop);
  for (const auto each : victims) {
    zookeeper_->free_disk(each);
    if (starts || !servers_.alive(each)) zookeeper_->restart(each);
  }
  for (const auto each : victims) servers_.wait_until_serving(each, 60s);
}

/// Every other time the longest session timeout that they grant changes with that.
void server_nemesis::restart_all(const std::stop_token& stop) {
  static constexpr std::array longest{1'500, 2'500, 60'000, 60'000};
  const auto most = longest[dice_.one_of(longest.size())];
  const bool changes = dice_.one_of(2) == 0;
  const ongoing fault{log_, changes ? fmt::format("restart all, timeouts up to {}", most) : "restart all", "servers"};
  for (std::size_t i = 0; i < servers_.size() && !stop.stop_requested(); ++i) {
    if (changes) zookeeper_->configure(i, {fmt::format("maxSessionTimeout={}", most)});
    zookeeper_->restart(i);
    servers_.wait_until_serving(i, 60s);
  }
}

std::vector<std::size_t> server_nemesis::some_servers() {
  if (servers_.size() == 1) return {0};
  std::vector<std::size_t> order(servers_.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::rotate(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(dice_.one_of(order.size())), order.end());
  // Drawn whether or not there is a leader now: the same seed goes on with the same numbers.
  const auto kind = dice_.one_of(12);
  const auto minority = 1 + dice_.one_of((servers_.size() - 1) / 2);
  const auto leader = servers_.leader();
  if (kind == 0) {
    order.resize(servers_.size() / 2 + 1);
  } else if (kind <= 4 && leader) {
    order = {*leader};
  } else {
    if (leader) std::erase(order, *leader);
    order.resize(minority);
  }
  return order;
}

std::string server_nemesis::describe(const std::vector<std::size_t>& victims) const {
  if (victims.size() > servers_.size() / 2) return "majority";
  if (victims.size() > 1) return fmt::format("{} servers", victims.size());
  return servers_.leader() == victims.front() ? "leader" : "follower";
}

}  // namespace chaos
