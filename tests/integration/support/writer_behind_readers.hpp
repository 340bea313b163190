// SPDX-License-Identifier: Apache-2.0
#pragma once

/// A queue of two holders and a waiter.

#include <shared_mutex>
#include <string>

#include <doctest/doctest.h>
#include <latchkey/shared_mutex.hpp>

#include "support/support.hpp"

namespace latchkey::testing {

/// Two readers of two clients, and a writer that waits for them.
struct writer_behind_readers {
  std::string path = fresh_path();
  client first{servers().connect_string(), quick()};
  client second{servers().connect_string(), quick()};
  shared_mutex one{first, path};
  shared_mutex two{second, path};
  shared_mutex writer{second, path};
  bool writer_was_asked = false;  ///< to release the lock, after the readers
  on_threads waiting;
  std::shared_lock<shared_mutex> of_one{one};
  std::shared_lock<shared_mutex> of_two{two};

  writer_behind_readers() {
    waiting.start([this] {
      writer.lock();
      writer_was_asked = writer.held().asked_to_release();
      writer.unlock();
    });
    REQUIRE(queued(path, 3));
  }

  /// The readers first, then the writer.
  void leave() {
    of_one.unlock();
    of_two.unlock();
    waiting.join();
  }
};

}  // namespace latchkey::testing
