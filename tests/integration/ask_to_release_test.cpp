// SPDX-License-Identifier: Apache-2.0
/// Asking for a lock that another client holds.

#include <latchkey/mutex.hpp>
#include <latchkey/queue_snapshot.hpp>

#include <atomic>
#include <mutex>

#include <doctest/doctest.h>

#include "support/family.hpp"
#include "support/reached.hpp"
#include "support/writer_behind_readers.hpp"

namespace latchkey::testing {

TEST_SUITE("queue snapshot") {
  LATCHKEY_TEST_CASES("a holder is told that it is asked to release the lock, and decides itself", kind, family()) {
    const auto path = fresh_path();
    std::atomic<int> told{0};
    auto options = quick();
    options.observer = [&](const client_event& event) {
      if (event.what == client_event::kind::asked_to_release && event.path == path) ++told;
    };
    client first{servers().connect_string(), options};
    client second{servers().connect_string(), quick()};
    const auto lock = kind.make(first, path);
    group_of_actors all{kind.who};
    all.start([&] {
      lock->lock();
      const auto grant = lock->held();
      const auto release = grant.release_token();
      CHECK_FALSE(grant.asked_to_release());
      CHECK(ask_to_release(second, path) == 1);
      CHECK(eventually([&] { return release.stop_requested(); }));
      CHECK(grant.asked_to_release());
      CHECK(eventually([&] { return told == 1; }));
      CHECK(grant);
      CHECK(lock->held() == grant);
      CHECK_FALSE(grant.stop_token().stop_requested());
      lock->unlock();
      lock->lock();
      CHECK_FALSE(lock->held().asked_to_release());  // it was asked for one grant
      CHECK_FALSE(lock->held() == grant);
      lock->unlock();
    });
    all.join();
    CHECK(told == 1);
    CHECK(leaves_nothing(path));
  }

  LATCHKEY_TEST_CASES("a holder that looks only later finds out that it was asked before", kind, family()) {
    const auto path = fresh_path();
    client first{servers().connect_string(), quick()};
    client second{servers().connect_string(), quick()};
    const auto lock = kind.make(first, path);
    group_of_actors all{kind.who};
    all.start([&] {
      lock->lock();
      const auto grant = lock->held();
      CHECK(ask_to_release(second, path) == 1);
      CHECK(eventually([&] { return grant.asked_to_release(); }));
      CHECK(grant);
      lock->unlock();
    });
    all.join();
  }

  TEST_CASE("all readers are asked, and those who wait are not") {
    writer_behind_readers here;
    CHECK(ask_to_release(here.second, here.path) == 2);
    CHECK(eventually([&] { return here.one.held_shared().asked_to_release(); }));
    CHECK(eventually([&] { return here.two.held_shared().asked_to_release(); }));
    here.leave();
    CHECK_FALSE(here.writer_was_asked);
  }

  TEST_CASE("what the request writes over a holder's data is not taken for its name") {
    const auto path = fresh_path();
    client owner{servers().connect_string(), quick()};
    mutex lock{owner, path};
    const auto held = lock.acquire();
    CHECK(ask_to_release(owner, path) == 1);
    const auto text = to_string(queue_snapshot{owner, path});
    CHECK(text.find("__REVOKE__") == text.npos);
    CHECK(text.find("(asked to release)") != text.npos);
  }

  TEST_CASE("a revocation reads names only, and asks the holders only") {
    counted here;
    writer_behind_readers readers;
    here.since();
    CHECK(ask_to_release(here.owner, readers.path) == 2);
    const auto sent = here.since();
    CHECK_FALSE(sent.contains("getData"));
    CHECK(sent.at("getChildren2") == 1);
    CHECK(sent.at("setData") == 2);
  }

  TEST_CASE("the timeout of a revocation bounds all of it") {
    const auto path = fresh_path();
    client other{servers().connect_string(), quick()};
    mutex lock{other, path};
    const std::lock_guard guard{lock};
    reached_by_proxy here{quick(20s)};
    here.net.delay(150ms);  // two round trips of 300 ms: list, write
    CHECK(error_of([&] { ask_to_release(here.owner, path, 450ms); }) == errc::unreachable);
    CHECK(ask_to_release(here.owner, path, patience()) == 1);
  }
}

}  // namespace latchkey::testing
