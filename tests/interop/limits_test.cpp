// SPDX-License-Identifier: Apache-2.0
/// What cannot share a lock, so that nobody tries it: a change of these facts should be noticed.

#include <latchkey/mutex.hpp>
#include <latchkey/shared_mutex.hpp>

#include <stop_token>

#include <doctest/doctest.h>

#include "peers.hpp"

namespace latchkey::testing {
namespace {

/// Whether the versions beside us have what later ones do not.
constexpr bool kazoo_649 = KAZOO_HAS_649;
constexpr bool curator_621 = CURATOR_HAS_621;

}  // namespace

TEST_SUITE("limits") {
  TEST_CASE("Curator does not see kazoo under kazoo's own names: both have the lock") {
    const auto path = fresh_path();
    contender_there python{kazoo(), fresh_name("kazoo")};
    contender_there java{curator(), fresh_name("curator")};
    python.take("lock", path);
    CHECK(java.try_take("mutex", path, patience()));
    CHECK(queue_at(path).size() == 2);
    java.release();
    python.release();
  }

  TEST_CASE("kazoo without extra_lock_patterns does not see latchkey, though latchkey sees kazoo") {
    const auto path = fresh_path();
    client here{servers().connect_string(), quick(10s)};
    mutex ours{here, path};
    contender_there python{kazoo(), fresh_name("kazoo")};
    python.take("default", path);
    CHECK_FALSE(ours.try_lock());
    python.release();
    REQUIRE(ours.try_lock_for(patience()));
    CHECK(python.try_take("default", path, patience()));
    python.release();
    ours.unlock();
  }

  TEST_CASE("Curator's read-write lock does not see kazoo's own names: both write") {
    const auto path = fresh_path();
    contender_there python{kazoo(), fresh_name("kazoo")};
    contender_there java{curator(), fresh_name("curator")};
    python.take("lock_write", path);
    CHECK(java.try_take("write", path, patience()));
    java.release();
    python.release();
  }

  TEST_CASE("ReadLock of kazoo before 2.9 waits for a writer behind it, which waits for it (kazoo #649)") {
    const auto path = fresh_path();
    contender_there first{latchkeys(), fresh_name("writer")};
    contender_there python{kazoo(), fresh_name("kazoo")};
    client here{servers().connect_string(), quick(10s)};
    shared_mutex ours{here, path};
    first.take("write", path);
    python.queue_up("lock_read", path);
    REQUIRE(queued(path, 2));
    std::stop_source gives_up;
    on_threads behind;
    behind.start([&] { CHECK_FALSE(ours.lock(gives_up.get_token())); });
    REQUIRE(queued(path, 3));
    first.release();
    if (kazoo_649) {
      const auto node = path + "/" + queue_at(path).back();
      CHECK(eventually([&] { return watches(python.session(), node); }));
      CHECK_FALSE(python.answered());
      gives_up.request_stop();
      behind.join();
      python.granted();
    } else {
      python.granted();
      gives_up.request_stop();
      behind.join();
    }
    python.release();
  }

  TEST_CASE("a reader of Curator before 5.5 that was a writer is overtaken by writers that waited (CURATOR-621)") {
    for (auto* where : {&curator, &latchkeys}) {
      const auto path = fresh_path();
      contender_there java{curator(), fresh_name("curator")};
      contender_there writer{where(), fresh_name("writer")};
      java.take("write", path);
      writer.queue_up("write", path);
      REQUIRE(queued(path, 2));
      java.say("downgrade");
      java.granted();
      if (curator_621) {
        writer.granted();
        CHECK(java.believes());
        CHECK(queue_at(path).size() == 2);
        writer.release();
        java.release();
      } else {
        CHECK(queued(path, 2));
        CHECK_FALSE(writer.answered());
        java.release();
        writer.granted();
        writer.release();
      }
    }
  }

  TEST_CASE("Curator's InterProcessSemaphoreMutex is another lock: both have it") {
    const auto path = fresh_path();
    client here{servers().connect_string(), quick(10s)};
    mutex ours{here, path};
    contender_there java{curator(), fresh_name("curator")};
    java.take("semaphore_mutex", path);
    CHECK(ours.try_lock());
    ours.unlock();
    java.release();
  }

  TEST_CASE("Curator's read-write lock does not see a mutex at its path: both have it") {
    const auto path = fresh_path();
    client here{servers().connect_string(), quick(10s)};
    mutex ours{here, path};
    contender_there java{curator(), fresh_name("curator")};
    ours.lock();
    CHECK(java.try_take("write", path, patience()));
    java.release();
    ours.unlock();
  }
}

}  // namespace latchkey::testing
