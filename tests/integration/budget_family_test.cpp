// SPDX-License-Identifier: Apache-2.0
/// Requests per operation of the locks beside `mutex`; of re-entering, see reentrant_mutex_test.cpp.

#include <algorithm>
#include <atomic>
#include <memory>
#include <mutex>
#include <type_traits>
#include <vector>

#include <doctest/doctest.h>
#include <latchkey/fair_mutex.hpp>
#include <latchkey/mutex.hpp>
#include <latchkey/reentrant_mutex.hpp>
#include <latchkey/shared_mutex.hpp>

#include "support/family.hpp"
#include "support/reached.hpp"

namespace latchkey::testing {

TEST_SUITE("budget") {
  LATCHKEY_TEST_CASES(
      "an uncontended lock of any kind is one create and one list, its unlock one delete", kind,
      kinds_of_locks({&kinds::reentrant, &kinds::fair, &kinds::ticketed, &kinds::writer, &kinds::reader})) {
    const auto path = fresh_path();
    servers().create_all(path);
    counted here;
    const auto lock = kind->make(here.owner, path);
    lock->lock();
    CHECK(here.waited_for_since() == counts{{"create2", 1}, {"getChildren2", 1}});
    lock->unlock();
    CHECK(queued(path, 0));
    CHECK(here.waited_for_since() == counts{{"delete", 1}});
  }

  LATCHKEY_TEST_CASES("a wait of any kind is one write and three reads, and its end one write more", kind,
                      prompt_kinds()) {
    const auto path = fresh_path();
    client other{servers().connect_string(), quick()};
    const auto holder = kind.make_rival(other, path);
    counted here;
    const auto lock = kind.make(here.owner, path);
    group_of_actors all{kind.who};
    all.start([&] {
      holder->lock();
      std::stop_source stop;
      group_of_actors waiting{kind.who};
      waiting.start([&] { CHECK_FALSE(lock->lock(stop.get_token())); });
      REQUIRE(has_sent(here.net, opcode::get_data, 2));
      stop.request_stop();
      waiting.join();
      REQUIRE(queued(path, 1));
      CHECK(here.since() == counts{{"create2", 1}, {"getChildren2", 1}, {"getData", 2}, {"delete", 1}});
      holder->unlock();
    });
    all.join();
  }

  constexpr std::uint64_t most_looks = 4;  // of one wait

  LATCHKEY_TEST_CASES("a hand-off is no request when only the holder was ahead, and one read when more were", kind,
                      prompt_kinds()) {
    for (const int ahead : {1, 3}) {
      CAPTURE(ahead);
      const auto path = fresh_path();
      std::vector<std::unique_ptr<client>> clients;
      std::vector<std::unique_ptr<any_lockable>> locks;
      for (int i = 0; i < ahead; ++i) {
        clients.push_back(std::make_unique<client>(servers().connect_string(), quick()));
        locks.push_back(kind.make_rival(*clients.back(), path));
      }
      counted here;
      const auto lock = kind.make(here.owner, path);
      signal start;
      group_of_actors all{kind.who};
      for (int i = 0; i < ahead; ++i) {
        all.start([&, i] {
          REQUIRE(queued(path, static_cast<std::size_t>(i)));
          const std::lock_guard guard{*locks[i]};
          if (i == 0) start.wait();
        });
      }
      all.start([&] {
        REQUIRE(queued(path, static_cast<std::size_t>(ahead)));
        lock->lock();
        auto sent = here.since();
        // A writer that has gone may have become a reader, under another name: a writer behind it looks.
        const std::uint64_t most_lists = ahead > 1 ? 1 + most_looks : kind.lock == &kinds::writer ? 1 : 0;
        CHECK(sent["getChildren2"] <= most_lists);
        sent.erase("getChildren2");
        CHECK(sent.empty());
        lock->unlock();
      });
      all.start([&] {
        REQUIRE(queued(path, static_cast<std::size_t>(ahead) + 1));
        REQUIRE(has_sent(here.net, opcode::get_data, 2));  // the one ahead, and its own
        auto sent = here.since();
        const auto looks = sent["getChildren2"] - 1;  // ahead, while the holder goes on
        CHECK(looks <= (ahead > 1 ? most_looks : 0));
        sent.erase("getChildren2");
        CHECK(sent == counts{{"create2", 1}, {"getData", 2}});
        start.set();
      });
      all.join();
      CHECK(queued(path, 0));
    }
  }

  TEST_CASE_TEMPLATE("a lock that lingers is had again without a request", Lock, mutex, reentrant_mutex, shared_mutex) {
    const auto path = fresh_path();
    servers().create_all(path);
    counted here;
    {
      Lock lock{here.owner, path, {.linger = 1h}};
      lock.lock();
      auto fence = lock.held().fence();
      lock.unlock();
      REQUIRE(has_sent(here.net, opcode::get_children2, 2));  // whether anybody waits
      REQUIRE(has_sent(here.net, opcode::get_data));          // whether its node is still there
      CHECK(here.since() == counts{{"create2", 1}, {"getChildren2", 2}, {"getData", 1}});
      for (int i = 0; i < 100; ++i) {
        lock.lock();
        CHECK(lock.held());
        CHECK(lock.held().fence() > fence);
        fence = lock.held().fence();
        lock.unlock();
      }
      CHECK(here.since().empty());
      client other{servers().connect_string(), quick()};
      Lock theirs{other, path};
      CHECK(theirs.try_lock_for(patience()));  // given up as soon as somebody waits
      theirs.unlock();
    }
    CHECK(leaves_nothing(path));
  }

#ifndef LATCHKEY_WITHOUT_FIBERS  // fibers of one thread all come before the last of them goes on
  TEST_CASE_TEMPLATE("local callers pay for the first few requests only while nobody outside waits", Lock, mutex,
                     reentrant_mutex, shared_mutex) {
    const auto path = fresh_path();
    servers().create_all(path);
    counted here;
    Lock lock{here.owner, path};
    auto held = lock.acquire();
    on_fibers all;
    int turns = 0;
    for (int i = 0; i < 64; ++i) {
      all.start([&] {
        for (int round = 0; round < 20; ++round) {
          const std::lock_guard guard{lock};
          ++turns;
        }
      });
    }
    all.start([&] { held.release(); });  // they all wait
    all.join();
    CHECK(turns == 64 * 20);
    REQUIRE(queued(path, 0));
    auto sent = here.since();
    CHECK(sent["create2"] == 1);
    CHECK(sent["getChildren2"] <= 2);
    CHECK(sent["delete"] == 1);
    CHECK(sent["getData"] <= 1);  // its own node, when it has held for a moment
  }

  TEST_CASE_TEMPLATE("a thousand local callers are woken one by one", Lock, mutex, fair_mutex) {
    constexpr int waiters = 1'000;
    const auto path = fresh_path();
    servers().create_all(path);
    counted here;
    Lock lock{here.owner, path};
    auto held = lock.acquire();
    int inside = 0;
    std::vector<int> order;
    on_fibers all;
    for (int i = 0; i < waiters; ++i) {
      all.start([&, i] {
        const std::lock_guard guard{lock};
        CHECK(++inside == 1);
        order.push_back(i);
        --inside;
      });
    }
    all.start([&] { held.release(); });
    all.join();
    CHECK(order.size() == waiters);
    CHECK(std::is_sorted(order.begin(), order.end()));
    CHECK(queued(path, 0));
    auto sent = here.since();
    const auto own = sent.extract("getData");  // each its own, and the parent: nobody waits for them
    if (!own.empty()) CHECK(own.mapped() <= (std::is_same_v<Lock, mutex> ? 1 : waiters + 2));
    std::uint64_t total = 0;
    for (const auto& [name, count] : sent) total += count;
    CHECK(total <= (std::is_same_v<Lock, mutex> ? 10 : waiters * 2.2));
  }

  TEST_CASE("four hundred callers of one fair lock drain with at most 2.2 requests each, and a read nobody waits for") {
    constexpr int waiters = 400;
    for (const bool held : {true, false}) {
      CAPTURE(held);
      const auto path = fresh_path();
      servers().create_all(path);
      counted here;
      fair_mutex lock{here.owner, path};
      auto before = held ? lock.acquire() : guard{};
      here.net.reset_requests();
      on_fibers all;
      for (int i = 0; i < waiters; ++i) {
        all.start([&] { const std::lock_guard guard{lock}; });
      }
      if (held) {
        all.start([&] {
          REQUIRE(queued(path, waiters + 1));
          before.release();
        });
      }
      all.join();
      REQUIRE(queued(path, 0));
      auto sent = here.since();
      CHECK(sent.at("create2") == waiters);
      const auto own = sent.extract("getData");  // each its own, and the parent
      if (!own.empty()) CHECK(own.mapped() <= waiters + 2);
      std::uint64_t total = 0;
      for (const auto& [name, count] : sent) total += count;
      CHECK(total <= waiters * 2.2);
    }
  }
#endif
}

}  // namespace latchkey::testing
