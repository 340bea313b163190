// SPDX-License-Identifier: Apache-2.0
/// Readers and writers in the order of the queue.

#include <latchkey/shared_mutex.hpp>

#include <atomic>
#include <mutex>
#include <shared_mutex>

#include <doctest/doctest.h>

#include "support/reached.hpp"
#include "support/three_clients.hpp"
#include "test_cases.hpp"

namespace latchkey::testing {

TEST_SUITE("shared mutex") {
  LATCHKEY_TEST_CASES("a reader behind a queued writer waits for it, and the writer for the reader before", who,
                      all_callers()) {
    three_clients all_of;
    auto& [path, first, second, third, a, b, c] = all_of;
    std::string order;
    fencing_token before;
    fencing_token between;
    signal held;
    group_of_actors all{who};
    all.start([&] {
      a.lock_shared();
      before = a.held_shared().fence();
      held.set();
      REQUIRE(queued(path, 3));
      order += "a";
      a.unlock_shared();
    });
    all.start([&] {
      held.wait();
      b.lock();
      order += "b";
      between = b.held().fence();
      CHECK(between > before);
      CHECK(queue_at(path).size() == 2);
      b.unlock();
    });
    all.start([&] {
      REQUIRE(queued(path, 2));
      CHECK_FALSE(c.try_lock_shared());
      c.lock_shared();
      order += "c";
      CHECK(c.held_shared().fence() > between);
      c.unlock_shared();
    });
    all.join();
    CHECK(order == "abc");
    CHECK(leaves_nothing(path));
  }

  LATCHKEY_TEST_CASES("when the writer between two readers gives up, the second reads beside the first", who,
                      all_callers()) {
    three_clients all_of;
    auto& [path, first, second, third, a, b, c] = all_of;
    std::stop_source stop;
    signal held;
    signal both;
    group_of_actors all{who};
    all.start([&] {
      a.lock_shared();
      held.set();
      both.wait();
      a.unlock_shared();
    });
    all.start([&] {
      held.wait();
      CHECK_FALSE(b.lock(stop.get_token()));
    });
    all.start([&] {
      REQUIRE(queued(path, 2));
      c.lock_shared();
      CHECK(stop.stop_requested());
      CHECK(queued(path, 2));
      c.unlock_shared();
      both.set();
    });
    all.start([&] {
      REQUIRE(queued(path, 3));
      stop.request_stop();
    });
    all.join();
    CHECK(leaves_nothing(path));
  }

  LATCHKEY_TEST_CASES("a writer gets in though readers come without a pause, a reader though writers do", who,
                      all_callers()) {
    three_clients all_of;
    auto& [path, first, second, third, a, b, c] = all_of;
    std::atomic<bool> done{false};
    std::atomic<int> reading{0};
    group_of_actors reads{who};
    for (auto* const lock : {&a, &a, &b, &b}) {
      reads.start([&, lock] {
        while (!done) {
          const std::shared_lock guard{*lock};
          ++reading;
          pause();
        }
      });
    }
    reads.start([&] {
      REQUIRE(eventually([&] { return reading > 4; }));
      CHECK(c.try_lock_for(patience()));
      done = true;
      c.unlock();
    });
    reads.join();
    done = false;
    std::atomic<int> writing{0};
    group_of_actors writes{who};
    for (auto* const lock : {&a, &a, &b, &b}) {
      writes.start([&, lock] {
        while (!done) {
          const std::lock_guard guard{*lock};
          ++writing;
        }
      });
    }
    writes.start([&] {
      REQUIRE(eventually([&] { return writing > 4; }));
      CHECK(c.try_lock_shared_for(patience()));
      done = true;
      c.unlock_shared();
    });
    writes.join();
    CHECK(leaves_nothing(path));
  }
}

}  // namespace latchkey::testing
