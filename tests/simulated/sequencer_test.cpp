// SPDX-License-Identifier: Apache-2.0
#include <latchkey/sequencer.hpp>

#include <latchkey/fair_mutex.hpp>
#include <latchkey/mutex.hpp>
#include <latchkey/queue_snapshot.hpp>
#include <latchkey/shared_mutex.hpp>

#include <chrono>
#include <optional>
#include <system_error>
#include <thread>

#include <doctest/doctest.h>

#include "callers.hpp"
#include "error_of.hpp"

namespace latchkey::testing {
namespace {

/// A holder, and a server that is sent its sequencer.
struct request_to_server {
  simulated_ensemble ensemble;
  client one{ensemble};
  client two{ensemble, {.close_timeout = 0ms}};
  mutex lock{one, "/locks/nightly"};
  guard held = lock.acquire();
  const sequencer sent = sequencer_of(held.grant());
  sequencer_cache cache{two};
};

}  // namespace

TEST_CASE_TEMPLATE("a sequencer is valid while the lock is held, and not after its release", callers,
                   LATCHKEY_CALLERS) {
  request_to_server w;
  const auto received = parse_sequencer(to_string(w.sent));
  CHECK(received == w.sent);
  CHECK(received.node == "/locks/nightly/" + w.ensemble.children("/locks/nightly").front());
  CHECK(received.token == w.held.fence());
  CHECK(is_exclusive(received));
  const auto is_valid = [&] { return check_sequencer(w.two, received); };
  const auto looks_valid = [&] { return w.cache.looks_valid(received); };
  CHECK(callers::start(is_valid).get());
  CHECK(callers::start(looks_valid).get());
  CHECK(callers::start(looks_valid).get());
  w.held.release();
  REQUIRE(queued(w.ensemble, "/locks/nightly", 0));
  CHECK_FALSE(callers::start(is_valid).get());
  CHECK_FALSE(callers::start(looks_valid).get());
}

TEST_CASE("a sequencer is not valid once its session has expired, or an operator has deleted its node") {
  request_to_server w;
  REQUIRE(w.cache.looks_valid(w.sent));
  w.ensemble.advance(20ms);  // an entry that is 10 ms old watches its own node
  SUBCASE("expired") { w.ensemble.expire_session(w.one); }
  SUBCASE("deleted") { CHECK(w.ensemble.delete_node(w.sent.node)); }
  SUBCASE("evicted") {
    CHECK(evict(w.two, "/locks/nightly", w.ensemble.children("/locks/nightly").front()));
    w.ensemble.advance(1s);
  }
  CHECK_FALSE(w.held);
  CHECK_FALSE(check_sequencer(w.two, w.sent));
  CHECK_FALSE(w.cache.looks_valid(w.sent));
  CHECK_FALSE(check_sequencer(w.one, w.sent));
}

TEST_CASE("there is no sequencer of a grant that has ended, or was never held") {
  request_to_server w;
  const auto grant = w.held.grant();
  SUBCASE("released") { w.held.release(); }
  SUBCASE("lost") { w.ensemble.expire_session(w.one); }
  CHECK(error_of([&] { sequencer_of(grant); }) == errc::lock_lost);
  CHECK(error_of([&] { sequencer_of({}); }) == errc::lock_lost);
}

TEST_CASE("the sequencer of an earlier grant of the same object: a place given up is gone, a turn has another token") {
  simulated_ensemble ensemble;
  client one{ensemble};
  fair_mutex line{one, "/locks/line"};
  auto held = line.acquire();
  const auto first = sequencer_of(held.grant());
  held.release();
  held = line.acquire();
  CHECK(sequencer_of(held.grant()).node != first.node);
  CHECK_FALSE(check_sequencer(one, first));

  mutex turns{one, "/locks/turns", {.linger = 1h}};
  held = turns.acquire();
  const auto turn = sequencer_of(held.grant());
  held.release();
  held = turns.acquire();
  const auto next = sequencer_of(held.grant());
  CHECK(next.node == turn.node);
  CHECK(next.token > turn.token);
  CHECK(check_sequencer(one, turn));
}

TEST_CASE("a reader's sequencer is not exclusive, a writer's is, and one that has become a reader has a new node") {
  simulated_ensemble ensemble;
  client one{ensemble};
  shared_mutex config{one, "/locks/config"};
  auto reads = config.acquire_shared();
  const auto reader = sequencer_of(reads.grant());
  CHECK_FALSE(is_exclusive(reader));
  CHECK(check_sequencer(one, reader));
  reads.release();
  auto writes = config.acquire();
  const auto writer = sequencer_of(writes.grant());
  CHECK(is_exclusive(writer));
  CHECK(check_sequencer(one, writer));
  CHECK_FALSE(check_sequencer(one, reader));
  reads = config.downgrade(std::move(writes));
  CHECK_FALSE(check_sequencer(one, writer));
  CHECK(check_sequencer(one, sequencer_of(reads.grant())));
}

TEST_CASE("another ensemble does not know the node") {
  request_to_server w;
  simulated_ensemble other;
  client server{other};
  CHECK_FALSE(check_sequencer(server, w.sent));
  CHECK_FALSE(sequencer_cache{server}.looks_valid(w.sent));
}

TEST_CASE("a node that is no contender's is refused without a request") {
  request_to_server w;
  const auto before = w.two.metrics();
  for (const auto* node : {"", "/", "/_c_5f3c-lock-0000000001", "locks/_c_5f3c-lock-0000000001", "/locks/config",
                           "/locks/../_c_5f3c-lock-0000000001", "/zookeeper/config-lock-0000000001"}) {
    CAPTURE(node);
    CHECK(error_of([&] { return check_sequencer(w.two, {node, {}}); }) == errc::bad_path);
    CHECK(error_of([&] { return w.cache.looks_valid({node, {}}); }) == errc::bad_path);
  }
  CHECK(w.two.metrics().transactions == before.transactions);
}

TEST_CASE("without a connection a check finds nothing out in time, and the cache says no at once") {
  request_to_server w;
  REQUIRE(w.cache.looks_valid(w.sent));
  w.ensemble.cut(w.two);
  w.ensemble.advance(w.two.session_timeout() / 2);
  CHECK(w.two.connected());
  CHECK(error_of([&] { return check_sequencer(w.two, w.sent, 0s); }) == errc::unreachable);
  CHECK_FALSE(w.cache.looks_valid(w.sent, 0s));
  w.ensemble.advance(w.two.session_timeout() / 3);
  REQUIRE_FALSE(w.two.connected());
  CHECK_FALSE(w.cache.looks_valid(w.sent, std::chrono::hours::max()));
  w.ensemble.heal(w.two);
  CHECK(w.two.wait_for_connection(30s));
  CHECK(w.cache.looks_valid(w.sent));
}

TEST_CASE("a cache may outlive its client, and a call for one that has been closed is an error") {
  std::optional<request_to_server> w{std::in_place};
  sequencer_cache cache{w->two};
  REQUIRE(cache.looks_valid(w->sent));
  const auto sent = w->sent;
  w.reset();
  CHECK(error_of([&] { return cache.looks_valid(sent); }) == errc::closed);
}

TEST_CASE_TEMPLATE("a question that waits when the client is closed is an error", callers, LATCHKEY_CALLERS) {
  request_to_server w;
  w.ensemble.cut(w.two);
  const auto before = w.two.metrics().transactions;
  auto checked = callers::start([&] { return error_of([&] { return check_sequencer(w.two, w.sent, 1h); }); });
  auto looked = callers::start([&] { return error_of([&] { return w.cache.looks_valid(w.sent, 1h); }); });
  while (w.two.metrics().transactions < before + 2) (void)w.ensemble.children("/locks/nightly");  // until both wait
  auto closed = callers::start([&] { w.two.close(); });
  closed.get();
  CHECK(checked.get() == errc::closed);
  CHECK(looked.get() == errc::closed);
}

TEST_CASE("closing the client ends a question that no server answers") {
  request_to_server w;
  client asking{w.ensemble, {.session_timeout = 40s, .keep_lease_ready = false, .close_timeout = 1min}};
  sequencer_cache cache{asking};
  REQUIRE(asking.wait_for_connection(10s));
  w.ensemble.cut(asking);
  auto failed =
      on_threads::start([&] { return error_of([&] { (void)cache.looks_valid(w.sent, std::chrono::hours::max()); }); });
  while (asking.metrics().unanswered == 0) std::this_thread::yield();
  const auto before = w.ensemble.now();
  auto closed = on_threads::start([&] { asking.close(); });
  CHECK(failed.get() == errc::closed);
  CHECK(w.ensemble.now() - before < 20s);  // the loss of the connection shows after 26 s
  w.ensemble.advance(1min);
  closed.get();
}

}  // namespace latchkey::testing
