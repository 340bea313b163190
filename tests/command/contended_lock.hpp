// SPDX-License-Identifier: Apache-2.0
#pragma once

/// A lock with a holder and a waiter.

#include <cstddef>
#include <future>
#include <string>
#include <utility>

#include <latchkey/client.hpp>
#include <latchkey/guard.hpp>
#include <latchkey/mutex.hpp>
#include <latchkey/queue_snapshot.hpp>

#include "program.hpp"

namespace latchkey::testing {

inline client_options labelled(std::string label) {
  client_options made;
  made.label = std::move(label);
  return made;
}

inline bool queued(client& through, const std::string& path, std::size_t count) {
  return eventually([&] { return queue_snapshot{through, path}.contenders().size() == count; });
}

/// A lock that one client holds, and another waits for.
struct contended_lock {
  std::string path = fresh_path();
  client one{servers().connect_string(), labelled("one")};
  client two{servers().connect_string(), labelled("two")};
  mutex of_one{one, path};
  mutex of_two{two, path};
  guard held = of_one.acquire();
  std::future<guard> next = std::async(std::launch::async, [this] { return of_two.acquire(); });

  contended_lock() { REQUIRE(queued(one, path, 2)); }
  ~contended_lock() { held.release(); }
  contended_lock(const contended_lock&) = delete;
  contended_lock& operator=(const contended_lock&) = delete;

  std::string node_of(std::size_t index) { return queue_snapshot{one, path}.contenders()[index].node; }
};

}  // namespace latchkey::testing
