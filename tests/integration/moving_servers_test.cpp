// SPDX-License-Identifier: Apache-2.0
/// Real servers that are restarted one after another, each with a new address, while a lock is held. Names are moved in
/// place of getaddrinfo, or by a name server: see name_server.sh. LATCHKEY_REPETITIONS asks for more restarts.

#include <latchkey/mutex.hpp>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <mutex>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "name_table.hpp"
#include "support/overlap.hpp"
#include "support/support.hpp"

namespace latchkey::testing {
namespace {

using steady = std::chrono::steady_clock;

int rounds() { return std::getenv("LATCHKEY_REPETITIONS") == nullptr ? 1 : repetitions(); }

/// Within what time a client is to be connected when all servers serve.
std::chrono::milliseconds soon() { return 1500ms * (patience() / 15s); }

/// Three servers that the client knows by name.
class wandering_ensemble {
 public:
  wandering_ensemble() {
    for (std::size_t i = 0; i < all_.size(); ++i) tell(i);
  }

  std::string connect_string() const {
    std::string names;
    for (std::size_t i = 0; i < all_.size(); ++i) {
      names += (names.empty() ? "" : ",") + name(i) + ":" + std::to_string(all_.address(i).port);
    }
    return names;
  }

  /// The name is right whenever the server serves.
  void restart_elsewhere(std::size_t server) {
    all_.stop(server);
    ++last_;
    all_.move(server, "127.0." + std::to_string(1 + last_ / 250) + "." + std::to_string(1 + last_ % 250));
    tell(server);
    all_.start(server);
  }
  std::size_t size() const { return all_.size(); }

 private:
  static std::string name(std::size_t server) { return "zk" + std::to_string(server) + ".test"; }
  void tell(std::size_t server) { name_table::of_program().set(name(server), {all_.address(server).host}); }

  ensemble all_;
  int last_ = 0;
};

/// How long a client was without a connection.
class outages {
 public:
  void take(const client_event& event) {
    const std::lock_guard lock{mutex_};
    if (event.what == client_event::kind::disconnected) since_ = steady::now();
    if (event.what == client_event::kind::connected && since_ != steady::time_point{}) {
      longest_ = std::max(longest_, steady::now() - since_);
    }
    if (event.what == client_event::kind::lost) ++lost_;
  }
  std::chrono::milliseconds longest() const {
    const std::lock_guard lock{mutex_};
    return std::chrono::ceil<std::chrono::milliseconds>(longest_);
  }
  int lost() const {
    const std::lock_guard lock{mutex_};
    return lost_;
  }

 private:
  mutable std::mutex mutex_;
  steady::time_point since_{};
  steady::duration longest_{};
  int lost_ = 0;
};

bool connected_within(const client& owner, std::chrono::milliseconds limit) {
  const auto end = steady::now() + limit;
  while (!owner.connected() && steady::now() < end) pause();
  return owner.connected();
}

}  // namespace

TEST_SUITE("moving servers") {
  TEST_CASE("a rolling restart in which each server gets a new address costs no lock and no session") {
    wandering_ensemble all;
    outages seen;
    auto options = quick(10s);
    options.observer = [&](const client_event& event) { seen.take(event); };
    client owner{all.connect_string(), options};
    REQUIRE(missing_connection(owner) == "");
    const auto session = owner.session_id();
    for (int round = 0; round < rounds(); ++round) {
      mutex lock{owner, fresh_path()};
      REQUIRE(lock.try_lock_for(patience()));
      const auto held = lock.held();
      for (std::size_t server = 0; server < all.size(); ++server) {
        all.restart_elsewhere(server);
        CHECK(connected_within(owner, soon()));
        CHECK(held);
      }
      lock.unlock();
    }
    CHECK(owner.session_id() == session);
    CHECK(seen.lost() == 0);
    MESSAGE("longest time without a connection: " << seen.longest().count() << " ms");
  }
}

}  // namespace latchkey::testing
