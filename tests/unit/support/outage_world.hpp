// SPDX-License-Identifier: Apache-2.0
#pragma once

/// A client whose servers are away, and what is said of it.

#include <chrono>
#include <memory>
#include <mutex>
#include <vector>

#include "recipes/line/cohort.hpp"
#include "support/scripted_connector.hpp"

namespace latchkey::testing {

using namespace std::chrono_literals;

/// A client, what its observer is told of outages, and a lock of it.
struct outage_world {
  static constexpr auto T = 4s;  // the session timeout
  static inline const detail::session_info there{.id = 7, .timeout = T, .server = "10.0.0.1:2181"};

  std::mutex mutex;
  std::vector<client_event> told;
  scripted_client client;
  std::shared_ptr<detail::cohort> lock;

  explicit outage_world(std::chrono::milliseconds connect_timeout = 10s) : client{options(connect_timeout)} {
    lock = std::make_shared<detail::cohort>(client.core, "/q", detail::contender_kind::lock, detail::cohort_options{});
  }
  ~outage_world() {
    lock->shut();
    client.own->run([this] { client.core->close([] {}); });
    client.advance(1min);  // beyond `close_timeout`: what has no answer is given up
  }

  client_options options(std::chrono::milliseconds connect_timeout) {
    auto made = scripted_client::silent();
    made.connect_timeout = connect_timeout;
    made.observer = [this](const client_event& event) {
      const std::lock_guard guard{mutex};
      told.push_back(event);
    };
    return made;
  }
  void connect() {
    client.opener->opens();
    client.opener->connects(there);
  }
  std::shared_ptr<detail::waiter> call(detail::duration timeout) {
    const auto until = detail::end_of_call(timeout, client.now);
    auto made = client.own->run([&] { return lock->enter(++fiber, until); });
    client.advance(0s);
    return made;
  }
  /// @returns the outages that the observer has been told of, when the event thread has done its work.
  std::vector<client_event> outages() {
    client.core->stop_threads();
    std::erase_if(told, [](const client_event& event) {
      return event.what != client_event::kind::unreachable && event.outage == 0ms;
    });
    return told;
  }
  std::uint64_t fiber = 0;
};

}  // namespace latchkey::testing
