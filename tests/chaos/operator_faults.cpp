// SPDX-License-Identifier: Apache-2.0
/// Nodes that an operator deletes, and a stranger that takes the path meanwhile.

#include <fmt/format.h>

#include <atomic>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <latchkey/testing/raw_client.hpp>

#include "client_nemesis.hpp"

namespace chaos {

using namespace std::chrono_literals;
using latchkey::testing::create_mode;
using latchkey::testing::raw_client;

namespace {

/// Deletes nodes of one lock, and writes down whose they were.
class deleter {
 public:
  deleter(raw_client& client, fault_log& log, int lock) : client_{client}, log_{log}, lock_{lock} {}

  /// @returns the process that has made the node; nothing if the node is gone, or was not made by one of ours.
  std::optional<std::string> owner_of(const std::string& node) {
    static constexpr std::string_view label = "latchkey chaos, ";
    const auto data = client_.get(node);
    const auto begin = data ? data->find(label) : std::string::npos;
    if (begin == std::string::npos) return std::nullopt;
    const auto name = begin + label.size();
    return data->substr(name, data->find('"', name) - name);
  }

  /// Written down whether or not an answer comes: it may have been deleted.
  void remove(const std::string& node, std::string owner) {
    fault what{clock::now(), {}, "delete node", std::move(owner), true, lock_};
    try {
      client_.remove(node);
    } catch (...) {
      end(what);
      throw;
    }
    end(what);
  }

 private:
  void end(fault& what) {
    what.end = clock::now();
    log_.add(what);
  }

  raw_client& client_;
  fault_log& log_;
  int lock_;
};

/// A contender that knows nothing of latchkey: it holds the lock for a moment if it is the first in the queue.
class stranger {
 public:
  stranger(raw_client& client, fault_log& log, int lock, family what)
      : client_{client}, log_{log}, lock_{lock}, path_{node_path(lock, what)}, kind_{marker(what)} {
    static std::atomic<int> count{0};
    name_ = fmt::format("stranger.{}/0/0", ++count);
  }

  void visit(std::chrono::milliseconds time, const std::stop_token& stop) {
    tell(event_kind::waits, clock::now(), "try");
    const auto prefix = fmt::format("{}/_c_00000000-0000-4000-8000-000000000001-{}", path_, kind_);
    try {
      client_.create(path_, {}, create_mode::container);
    } catch (const latchkey::testing::operation_failed&) {  // it is there already
    }
    node_ = client_.create(prefix, {}, create_mode::ephemeral_sequential);
    const auto names = client_.children(path_);
    const auto mine = std::string_view{node_}.substr(node_.size() - digits);
    for (const auto& name : names) {
      if (name.size() > digits && std::string_view{name}.substr(name.size() - digits) < mine) return leave(false);
    }
    hold(time, stop);
  }

 private:
  static constexpr std::size_t digits = 10;

  static std::string_view marker(family of) noexcept {
    if (of == family::semaphore) return "lease-";
    return of == family::shared ? "__WRIT__" : "lock-";
  }

  void hold(std::chrono::milliseconds time, const std::stop_token& stop) {
    const auto end = clock::now() + time;
    for (auto kind = event_kind::granted;; kind = event_kind::held) {
      const auto at = clock::now();
      client_.sync(node_);
      const auto found = client_.exists(node_);
      if (!found) return leave(kind == event_kind::held);
      token_ = {found->czxid, 0};
      tell(kind, at, fmt::format("{}", at.time_since_epoch().count()));
      if (at >= end || stop.stop_requested()) return leave(true);
      sleep(5ms, stop);
    }
  }
  void leave(bool held) {
    tell(held ? event_kind::unlocks : event_kind::refused, clock::now(), {});
    client_.remove(node_);
  }
  void tell(event_kind kind, clock::time_point at, std::string text) {
    log_.tell({at, name_, kind, lock_, access::exclusive, token_, client_.session().id, std::move(text)});
  }

  raw_client& client_;
  fault_log& log_;
  int lock_;
  std::string path_;
  std::string_view kind_;
  std::string name_;
  std::string node_;
  latchkey::fencing_token token_{};
};

}  // namespace

/// Every other time the first one, which everybody wants.
int client_nemesis::some_lock(const worker_slot& victim) {
  const bool first = dice_.one_of(2) == 0;
  const auto any = dice_.one_of(victim.families().size());
  return first ? 0 : static_cast<int>(any);
}

/// Of a holder or of a waiter.
void client_nemesis::delete_node(worker_slot& victim, const std::stop_token&) {
  const int lock = some_lock(victim);
  raw_client client{servers_->address(servers_->wait_for_leader(10s))};
  deleter by{client, log_, lock};
  const auto path = node_path(lock, victim.families()[static_cast<std::size_t>(lock)]);
  const auto names = client.children(path);
  if (names.empty()) return;
  const auto first = dice_.one_of(names.size());
  for (std::size_t i = 0; i < names.size(); ++i) {
    const auto node = path + "/" + names[(first + i) % names.size()];
    auto owner = by.owner_of(node);
    if (!owner || !owner->starts_with(victim.name() + ".")) continue;
    return by.remove(node, std::move(*owner));
  }
}

/// Again and again, as those whose nodes go come back at once; then a stranger is perhaps the first at the new path.
void client_nemesis::delete_path(worker_slot& victim, const std::stop_token& stop) {
  const int lock = some_lock(victim);
  raw_client client{servers_->address(servers_->wait_for_leader(10s))};
  deleter by{client, log_, lock};
  const auto what = victim.families()[static_cast<std::size_t>(lock)];
  const auto path = node_path(lock, what);
  for (int attempt = 0; attempt < 5; ++attempt) {
    for (const auto& name : client.children(path)) {
      const auto node = path + "/" + name;
      if (auto owner = by.owner_of(node)) by.remove(node, std::move(*owner));
    }
    try {
      if (client.remove(path)) break;
    } catch (const latchkey::testing::operation_failed&) {  // not empty
    }
  }
  stranger{client, log_, lock, what}.visit(dice_.between(0ms, 100ms), stop);
}

}  // namespace chaos
