// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Two clients of one lock, for tests of guards.

#include <string>
#include <thread>
#include <utility>

#include <latchkey/client.hpp>

#include "support/support.hpp"

namespace latchkey::testing {

/// Another thread than that of the test.
template <class Callable>
void elsewhere(Callable what) {
  std::thread{std::move(what)}.join();
}

/// Whether `rival` can take the lock. It gives it back.
bool is_free(auto& rival) {
  const bool taken = rival.try_lock_for(patience());
  if (taken) rival.unlock();
  return taken;
}

/// Of one path: `lock` is under test, `rival` wants it alone.
template <class Lock>
struct two_clients {
  std::string path = fresh_path();
  client one{servers().connect_string(), quick()};
  client two{servers().connect_string(), quick()};
  Lock lock{one, path};
  Lock rival{two, path};

  bool is_free() { return testing::is_free(rival); }
  bool is_held() { return !rival.try_lock(); }
};

}  // namespace latchkey::testing
