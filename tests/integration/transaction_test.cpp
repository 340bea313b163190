// SPDX-License-Identifier: Apache-2.0
/// Data and lock in one transaction, on real servers.

#include <latchkey/mutex.hpp>
#include <latchkey/shared_mutex.hpp>
#include <latchkey/transaction.hpp>

#include <future>

#include <doctest/doctest.h>

#include "support/reached.hpp"

namespace latchkey::testing {
namespace {

using result = commit_result::outcome;

/// @returns the path of a node with the data "old".
std::string fresh_data() {
  auto path = fresh_path();
  servers().create_all(path);
  servers().set(path, "old");
  return path;
}

/// A client behind a proxy that holds a lock.
struct holding : reached_by_proxy {
  const std::string path = fresh_path();
  const std::string data = fresh_data();
  mutex lock{owner, path};
  guard held = lock.acquire();

  explicit holding(client_options options = quick()) : reached_by_proxy{std::move(options)} {}

  transaction begin() { return {owner, held.grant()}; }
};

}  // namespace

TEST_SUITE("transaction") {
  TEST_CASE("lock, write and release are two writes and one read; a transaction is one request") {
    const auto path = fresh_path();
    const auto data = fresh_data();
    servers().create_all(path);
    counted here;
    mutex lock{here.owner, path};
    {
      const auto held = lock.acquire();
      CHECK(transaction{here.owner, held.grant()}.set(data, "new").commit_and_release());
      CHECK_FALSE(held.grant());
      CHECK_FALSE(held.grant().loss());
    }
    CHECK(queue_at(path).empty());
    CHECK(here.waited_for_since() == counts{{"create2", 1}, {"getChildren2", 1}, {"multi", 1}});
    CHECK(servers().get(data) == "new");
    const auto held = lock.acquire();
    here.since();
    CHECK(transaction{here.owner, held.grant()}.set(data, "newer").commit());
    CHECK(here.waited_for_since() == counts{{"multi", 1}});
    CHECK(held);
  }

  TEST_CASE("all steps are applied in one transaction, or none") {
    holding here;
    const auto other = here.data + "/other";
    REQUIRE(here.begin().create(other, "1").set(here.data, "new").commit());
    CHECK(servers().exists(other)->mzxid == servers().exists(here.data)->mzxid);
    const auto refused = here.begin().set(here.data, "newer").erase(here.data).commit();
    CHECK(to_string(refused) == "refused: step 1, ZNOTEMPTY");
    CHECK(to_string(here.begin().set(other, "2", 7).commit()) == "refused: step 0, ZBADVERSION");
    CHECK(to_string(here.begin().check(here.data, 0).commit()) == "refused: step 0, ZBADVERSION");
    CHECK(servers().get(here.data) == "new");
    CHECK(here.begin().check(other, 0).erase(other).commit());
    CHECK_FALSE(servers().exists(other));
    CHECK(here.begin().commit());  // only asks whether the lock is held
    CHECK(here.held);
  }

  TEST_CASE("reading tells the version, and all of the data") {
    holding here;
    const auto found = read(here.owner, here.data);
    CHECK(found.exists);
    CHECK(found.data == "old");
    REQUIRE(here.begin().set(here.data, std::string(800'000, 'x'), found.version).commit());
    const auto large = read(here.owner, here.data);
    CHECK(large.data == std::string(800'000, 'x'));
    CHECK(large.version == found.version + 1);
    CHECK_FALSE(read(here.owner, here.data + "/none").exists);
    CHECK(error_of([&] { read(here.owner, "relative"); }) == errc::bad_path);
  }

  TEST_CASE("after a loss nothing is written") {
    holding here;
    const auto grant = here.held.grant();
    SUBCASE("the node is deleted") { servers().remove(here.path + "/" + queue_at(here.path).front()); }
    SUBCASE("the session is over") {
      expire_session(here.owner);
      REQUIRE(eventually([&] { return !grant; }));  // until then the answer may be lost with the session
    }
    SUBCASE("it was unlocked") { here.held.release(); }
    CHECK(transaction{here.owner, grant}.set(here.data, "new").commit().what == result::lock_lost);
    CHECK_FALSE(grant);
    CHECK(servers().get(here.data) == "old");
  }

  TEST_CASE("in a callback of the loss it does not wait") {
    holding here;
    std::promise<result> ended;
    const std::stop_callback on_loss{here.held.grant().stop_token(),
                                     [&] { ended.set_value(here.begin().set(here.data, "new").commit().what); }};
    servers().remove(here.path + "/" + queue_at(here.path).front());
    CHECK(ended.get_future().get() == result::lock_lost);
  }

  TEST_CASE("whatever becomes of the answer, it is written once, and the outcome is known") {
    for (const bool applied : {false, true}) {
      for (const bool releases : {false, true}) {
        for (const bool marked : {false, true}) {
          if (!marked) continue;
          CAPTURE(applied);
          CAPTURE(releases);
          holding here{quick(60s)};  // no proof gets in between
          const auto grant = here.held.grant();
          const auto before = servers().exists(here.data)->version;
          auto writes = here.begin();
          writes.set(here.data, "new", before);
          if (marked) writes.once(here.data + "/marker");
          applied ? here.net.drop_reply_of_next(opcode::multi) : here.net.drop_next(opcode::multi);
          CHECK((releases ? writes.commit_and_release(patience()) : writes.commit(patience())));
          CHECK(servers().get(here.data) == "new");
          CHECK(servers().exists(here.data)->version == before + 1);
          CHECK(static_cast<bool>(grant) == !releases);
          here.held.release();
          CHECK(queued(here.path, 0));
        }
      }
    }
  }

  TEST_CASE("a session that ends with the answer leaves no doubt where there is a marker") {
    for (const bool applied : {false, true}) {
      CAPTURE(applied);
      holding here{quick(60s)};
      const auto session = here.owner.session_id();
      const auto before = here.owner.metrics().transactions;
      applied ? here.net.hold_reply_of_next(opcode::multi) : here.net.black_hole();
      auto ended = std::async(std::launch::async, [&] {
        return here.begin().set(here.data, "new").once(here.data + "/marker").commit(patience()).what;
      });
      REQUIRE(eventually([&] { return here.owner.metrics().transactions > before; }));
      if (applied) REQUIRE(eventually([&] { return servers().get(here.data) == "new"; }));
      REQUIRE(servers().expire(session));
      here.net.heal();
      CHECK(ended.get() == (applied ? result::committed : result::lock_lost));
      CHECK(servers().get(here.data) == (applied ? "new" : "old"));
    }
  }

  TEST_CASE("the next contender has the lock, and the turns of this object a place behind it") {
    holding here;
    client another{servers().connect_string(), quick()};
    mutex theirs{another, here.path};
    auto next = std::async(std::launch::async, [&] {
      const auto held = theirs.acquire();
      return held.fence();
    });
    REQUIRE(queued(here.path, 2));
    const auto fence = here.held.grant().fence();
    CHECK(here.begin().set(here.data, "new").commit_and_release());
    CHECK(next.get() > fence);
  }

  TEST_CASE("a reader writes only if no writer came in between, and keeps its place") {
    const auto path = fresh_path();
    const auto data = fresh_data();
    client owner{servers().connect_string(), quick()};
    shared_mutex lock{owner, path};
    const auto reads = lock.acquire_shared();
    CHECK(transaction{owner, reads.grant()}.set(data, "new").commit_and_release());
    CHECK(reads);
    CHECK(queue_at(path).size() == 1);
  }

  TEST_CASE("paths are below the chroot") {
    const auto data = fresh_data();
    const auto root = data.substr(0, data.rfind('/'));
    client owner{servers().connect_string() + root, quick()};
    mutex lock{owner, "/lock"};
    const auto held = lock.acquire();
    const auto name = data.substr(root.size());
    CHECK(transaction{owner, held.grant()}.set(name, "new").commit());
    CHECK(read(owner, name).data == "new");
    CHECK(servers().get(data) == "new");
    CHECK(transaction{owner, held.grant()}.set("/", "of the chroot").commit());
    CHECK(read(owner, "/").data == "of the chroot");
    CHECK(servers().get(root) == "of the chroot");
  }

  TEST_CASE("bad input is refused before anything is sent") {
    holding here;
    client another{servers().connect_string(), quick()};
    CHECK(error_of([&] { transaction{another, here.held.grant()}; }) == errc::bad_option);
    CHECK(transaction{another, grant{}}.commit().what == result::lock_lost);
    auto writes = here.begin();
    for (const auto* path : {"", "relative", "/a//b", "/a/"}) {
      CHECK(error_of([&] { writes.set(path, "new"); }) == errc::bad_path);
      CHECK(error_of([&] { writes.once(path); }) == errc::bad_path);
    }
    CHECK(error_of([&] { writes.set(here.data, std::string(1 << 20, 'x')); }) == errc::too_large);
    writes.set(here.data, std::string(500'000, 'x'));
    CHECK(error_of([&] { writes.set(here.data, std::string(500'000, 'x')); }) == errc::too_large);
    CHECK(error_of([&] { writes.once("/"); }) == errc::bad_path);
    CHECK(error_of([&] { writes.once(here.path + "/" + queue_at(here.path).front()); }) == errc::bad_option);
    CHECK(error_of([&] { writes.once(here.path); }) == errc::bad_option);  // is there as long as the lock is held
    CHECK(error_of([&] { writes.once(here.data); }) == errc::bad_option);
    CHECK(error_of([&] { here.begin().once(here.data).once(here.data + "/other"); }) == errc::bad_option);
    CHECK(error_of([&] { here.begin().once(here.data).erase(here.data); }) == errc::bad_option);
    const auto own = here.path + "/" + queue_at(here.path).front();
    CHECK(error_of([&] { writes.set(own, "new"); }) == errc::bad_option);
    CHECK(error_of([&] { writes.erase(own); }) == errc::bad_option);
    CHECK(error_of([&] { writes.check(own); }) == errc::bad_option);
    CHECK(writes.commit());  // without the steps that were refused
    CHECK(servers().get(here.data)->size() == 500'000);
  }

  TEST_CASE("out of reach it fails in time, and after close() at once") {
    holding here;
    here.net.cut();
    REQUIRE(eventually([&] { return !here.owner.connected(); }));
    CHECK(error_of([&] { return here.begin().set(here.data, "new").commit(50ms); }) == errc::unreachable);
    CHECK(error_of([&] { read(here.owner, here.data, 50ms); }) == errc::unreachable);
    here.net.heal();
    auto writes = here.begin();
    here.owner.close();
    CHECK(writes.set(here.data, "new").commit().what == result::lock_lost);
    CHECK(servers().get(here.data) == "old");
  }
}

}  // namespace latchkey::testing
