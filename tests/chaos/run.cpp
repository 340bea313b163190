// SPDX-License-Identifier: Apache-2.0
#include "run.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <memory>
#include <stop_token>
#include <thread>
#include <vector>

#include <latchkey/testing/raw_client.hpp>

#include "client_nemesis.hpp"
#include "fault_log.hpp"
#include "other_servers.hpp"
#include "server_nemesis.hpp"
#include "worker_slot.hpp"
#include "zookeeper_servers.hpp"

namespace chaos {

using namespace std::chrono_literals;

namespace {

latchkey::testing::ensemble_options ensemble_of(const run_options& how) {
  latchkey::testing::ensemble_options options;
  options.servers = how.servers;
  options.quorum_proxies = true;
  options.container_check_interval = 1s;  // a lock that nobody wants for a moment loses its parent
  options.start_timeout = 60s;
  return options;
}

std::unique_ptr<lock_servers> servers_of(const run_options& how) {
  if (!how.service.empty()) return std::make_unique<other_servers>(how.service, how.servers, how.folder);
  return std::make_unique<zookeeper_servers>(ensemble_of(how));
}

class run {
 public:
  explicit run(const run_options& how) : how_{how}, log_{how.folder}, servers_{servers_of(how)} {
    dice chance{how.seed};
    const auto families = draw_families(how.families, how.locks, chance);
    for (int lock = 0; lock < how.locks; ++lock) {
      log_.tell("chaos", event_kind::family, std::string{to_string(families[static_cast<std::size_t>(lock)])}, lock);
    }
    for (int i = 1; i <= how.workers; ++i) {
      worker_options work;
      work.name = fmt::format("w{}", i);
      work.program = how.program;
      work.common = how.common;
      work.folder = how.folder;
      work.seed = how.seed * 1'000'000 + static_cast<std::uint64_t>(i) * 100'000;
      work.families = families;
      work.threads = how.threads;
      work.fibers = how.fibers;
      work.peers = i % 2 == 0;
      work.log = how.log;
      slots_.emplace_back(std::move(work), servers_->addresses(), log_);
    }
  }

  void execute() {
    for (auto& slot : slots_) slot.start();
    torment();
    const bool finished = finish();
    wait_for_killed_sessions();
    close();
    if (finished && zookeeper_) look_for_leftovers();
  }

 private:
  /// Storms, and between them enough peace to see that every lock recovers.
  void torment() {
    constexpr auto longest_storm = 60s;
    const auto end = clock::now() + how_.duration;
    for (std::uint64_t storm = 1;; ++storm) {
      storm_for(std::min<clock::duration>(longest_storm, end - clock::now()), how_.seed + 1'000'000 * storm);
      servers_->wait_for_quorum(60s);
      if (clock::now() >= end) return;
      std::this_thread::sleep_for(default_limits().recovery + 1s);
    }
  }

  /// For a while only an operator deletes nodes: what their owners then hear of at once is not delayed by other faults.
  void operate_for(clock::duration time, std::uint64_t seed) {
    std::vector<worker_slot*> all;
    for (auto& slot : slots_) all.push_back(&slot);
    client_nemesis nemesis{zookeeper_, all, log_, seed * 3 + 1, repertoire::of_operator};
    const std::jthread thread{[&](const std::stop_token& stop) { nemesis.run(stop); }};
    std::this_thread::sleep_for(time);
  }

  /// Two nemeses for the workers, one for the servers, so that faults of both kinds meet.
  void storm_for(clock::duration time, std::uint64_t seed) {
    if (!how_.common) {
      operate_for(time / 4, seed);
      time -= time / 4;
    }
    const auto what = how_.common         ? repertoire::common
                      : how_.from_outside ? repertoire::and_expiries
                                          : repertoire::usual;
    std::vector<worker_slot*> some;
    std::vector<worker_slot*> others;
    for (std::size_t i = 0; i < slots_.size(); ++i) (i % 2 == 0 ? some : others).push_back(&slots_[i]);
    server_nemesis of_servers{*servers_, log_, seed * 3, how_.common};
    client_nemesis first{zookeeper_, some, log_, seed * 3 + 1, what};
    client_nemesis second{zookeeper_, others, log_, seed * 3 + 2, what};
    std::vector<std::jthread> threads;
    threads.emplace_back([&](const std::stop_token& stop) { of_servers.run(stop); });
    threads.emplace_back([&](const std::stop_token& stop) { first.run(stop); });
    if (!others.empty()) threads.emplace_back([&](const std::stop_token& stop) { second.run(stop); });
    std::this_thread::sleep_for(time);
    for (auto& thread : threads) thread.request_stop();
  }

  /// @returns whether every fiber of every worker has got every lock once more.
  bool finish() {
    std::this_thread::sleep_for(2s);  // of peace
    for (auto& slot : slots_) {
      slot.look_after();
      slot.process().say("finish");
    }
    const auto end = clock::now() + 60s * slowdown();
    bool all = true;
    for (auto& slot : slots_) {
      const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(end - clock::now());
      if (slot.process().hear(left)) continue;
      log_.tell(slot.process_name(), event_kind::hung, "it did not get every lock once more");
      all = false;
    }
    if (!all && zookeeper_) tell_queues();
    return all;
  }

  /// Who stands in whose way, as each of the servers sees it: a node that only some of them have is no fault of ours.
  void tell_queues() {
    for (std::size_t i = 0; i < zookeeper_->size(); ++i) {
      try {
        latchkey::testing::raw_client through{zookeeper_->address(i)};
        through.sync();
        for (int lock = 0; lock < how_.locks; ++lock) tell_queue(lock, i, through);
      } catch (const latchkey::testing::cluster_error& failure) {
        log_.tell("chaos", event_kind::note, fmt::format("server {} does not serve: {}", i + 1, failure.what()));
      }
    }
  }

  /// @returns the paths of nodes of the workers: of a semaphore also those of its turns.
  std::vector<std::string> node_paths(int lock) const {
    const auto what = slots_.front().families()[static_cast<std::size_t>(lock)];
    std::vector<std::string> paths{node_path(lock, what)};
    if (what == family::semaphore) paths.push_back(lock_path(lock) + "/locks");
    return paths;
  }

  void tell_queue(int lock, std::size_t server, latchkey::testing::raw_client& through) {
    for (const auto& path : node_paths(lock)) tell_nodes(lock, path, server, through);
  }

  void tell_nodes(int lock, const std::string& path, std::size_t server, latchkey::testing::raw_client& through) {
    for (const auto& name : through.children(path)) {
      const auto node = fmt::format("{}/{}", path, name);
      const auto stat = through.exists(node).value_or(latchkey::testing::node_stat{});
      log_.tell("chaos", event_kind::note,
                fmt::format("server {} has {} czxid={:#x} session={:#x} {}", server + 1, node, stat.czxid,
                            stat.ephemeral_owner, through.get(node).value_or("")),
                lock);
    }
  }

  void wait_for_killed_sessions() {
    for (const auto& slot : slots_) {
      std::this_thread::sleep_for(slot.sessions_over_at() - clock::now());
    }
  }

  void close() {
    for (auto& slot : slots_) slot.process().say("close");
    for (auto& slot : slots_) {
      const auto ending = slot.process().wait(15s * slowdown());
      if (ending == "exit code 0") continue;
      if (ending) {
        log_.tell(slot.process_name(), event_kind::crashed, *ending);
      } else {
        log_.tell(slot.process_name(), event_kind::hung, "it did not close");
        slot.kill();
      }
    }
  }

  void look_for_leftovers() {
    // One that was cut off takes its time to find the others again.
    for (std::size_t i = 0; i < zookeeper_->size(); ++i) zookeeper_->wait_until_serving(i, 60s);
    for (int lock = 0; lock < how_.locks; ++lock) {
      for (const auto& path : node_paths(lock)) {
        for (const auto& name : zookeeper_->children(path)) {
          if (name == "robust-owner") continue;  // what a dead owner leaves
          log_.tell("chaos", event_kind::leftover, fmt::format("{}/{}", path, name));
        }
      }
    }
    // The server forgets the watches of a connection when that ends, which close() of the client begins.
    auto watches = count_watches();
    for (int i = 0; watches != 0 && i < 30; ++i) {
      std::this_thread::sleep_for(100ms);
      watches = count_watches();
    }
    if (watches != 0) log_.tell("chaos", event_kind::leftover, fmt::format("{} watches", watches));
  }

  std::int64_t count_watches() {
    std::int64_t count = 0;
    for (std::size_t i = 0; i < zookeeper_->size(); ++i) count += zookeeper_->admin(i).wchs().watches;
    return count;
  }

  const run_options how_;
  fault_log log_;
  const std::unique_ptr<lock_servers> servers_;
  latchkey::testing::ensemble* const zookeeper_ = servers_->zookeeper();
  std::deque<worker_slot> slots_;
};

}  // namespace

void run_chaos(const run_options& how) { run{how}.execute(); }

limits default_limits() noexcept {
  limits most;
  most.recovery *= slowdown();
  most.overdue *= slowdown();
  most.deletion *= slowdown();
  return most;
}

int slowdown() noexcept {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  return 4;
#else
  return 1;
#endif
}

}  // namespace chaos
