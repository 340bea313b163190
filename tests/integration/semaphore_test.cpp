// SPDX-License-Identifier: Apache-2.0
#include <latchkey/queue_snapshot.hpp>
#include <latchkey/semaphore.hpp>

#include <atomic>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "support/reached.hpp"
#include "support/support.hpp"
#include "test_cases.hpp"

namespace latchkey::testing {
namespace {

bool leases(const std::string& path, std::size_t count) { return queued(path + "/leases", count); }
bool turns_waiting(const std::string& path, std::size_t count) { return queued(path + "/locks", count); }
bool is_free(const std::string& path) { return leases(path, 0) && turns_waiting(path, 0); }

}  // namespace

TEST_SUITE("semaphore") {
  LATCHKEY_TEST_CASES("callers of several clients never hold more permits than there are, and all are served", who,
                      all_callers()) {
    constexpr int permits = 3;
    const auto path = fresh_path();
    std::atomic<int> held{0};
    std::atomic<int> most{0};
    std::atomic<int> grants{0};
    const auto work = [&](semaphore& of, std::uint32_t count) {
      for (int i = 0; i < 10; ++i) {
        const auto permit = of.acquire(count);
        const int now = held += static_cast<int>(count);
        for (int seen = most; now > seen && !most.compare_exchange_weak(seen, now);) {
        }
        pause();
        held -= static_cast<int>(count);
        ++grants;
      }
    };
    client one{servers().connect_string(), quick()};
    client two{servers().connect_string(), quick()};
    semaphore first{one, path, permits};
    semaphore second{two, path, permits};
    group_of_actors all{who};
    for (auto* const each : {&first, &second}) {
      for (std::uint32_t count = 1; count <= permits; ++count) all.start([&, each, count] { work(*each, count); });
    }
    all.join();
    CHECK(grants == 60);
    CHECK(most == permits);
    CHECK(is_free(path));
  }

  TEST_CASE("a free permit is one create, two lists and one delete") {
    const auto path = fresh_path();
    counted here;
    semaphore permits{here.owner, path, 2};
    permits.acquire().release();
    REQUIRE(is_free(path));
    here.since();
    permits.acquire().release();
    REQUIRE(is_free(path));
    CHECK(here.waited_for_since() == counts{{"create2", 1}, {"getChildren2", 2}, {"delete", 1}});
  }

  TEST_CASE("who waited and finds room makes one transaction, and one that gives the permit back") {
    const auto path = fresh_path();
    client one{servers().connect_string(), quick()};
    client two{servers().connect_string(), quick()};
    semaphore holders{one, path, 2};
    semaphore waiting{two, path, 2};
    auto both = holders.acquire(2);  // given back in one transaction
    on_threads all;
    all.start([&] { CHECK(waiting.acquire()); });
    REQUIRE(turns_waiting(path, 1));
    counted here;
    semaphore last{here.owner, path, 2};
    all.start([&] { CHECK(last.acquire()); });
    REQUIRE(turns_waiting(path, 2));
    REQUIRE(eventually([&] { return here.owner.metrics().unanswered == 0; }));
    here.since();
    both.release();
    all.join();
    REQUIRE(is_free(path));
    // And one list of the path, after the first grant of an object.
    CHECK(here.waited_for_since() == counts{{"getChildren2", 2 + 1}, {"multi", 1}, {"delete", 1}});
  }

  TEST_CASE("a try is two lists and no write if there is no permit") {
    const auto path = fresh_path();
    client other{servers().connect_string(), quick()};
    semaphore theirs{other, path, 1};
    counted here;
    semaphore permits{here.owner, path, 1};
    permits.acquire().release();
    const auto held = theirs.acquire();
    here.catch_up();
    CHECK_FALSE(permits.try_acquire());
    CHECK(here.waited_for_since() == counts{{"getChildren2", 2}});
  }

  TEST_CASE("callers of one object pass permits on without a request") {
    const auto path = fresh_path();
    counted here;
    semaphore permits{here.owner, path, 1, {.linger = 1h}};
    auto held = permits.acquire();
    held.release();
    REQUIRE(has_sent(here.net, opcode::get_children2, 4));
    held = permits.acquire();
    held.release();
    REQUIRE(eventually([&] { return here.owner.metrics().unanswered == 0; }));
    here.since();
    for (int i = 0; i < 100; ++i) {
      held = permits.try_acquire();
      REQUIRE(held);
      held.release();
    }
    CHECK(here.waited_for_since().empty());
  }

  TEST_CASE("who asks for another number of permits is refused, until all have another one") {
    const auto path = fresh_path();
    client here{servers().connect_string(), quick()};
    client there{servers().connect_string(), quick()};
    semaphore two{here, path, 2};
    semaphore three{there, path, 3};
    auto held = two.acquire(2);
    REQUIRE(eventually([&] { return here.metrics().unanswered == 0; }));  // a try is refused behind a turn
    CHECK(error_of([&] { auto none = three.acquire(); }) == errc::contract_mismatch);
    CHECK(error_of([&] { auto none = three.try_acquire(); }) == errc::contract_mismatch);
    CHECK(error_of([&] { auto none = two.acquire(3); }) == errc::bad_option);
    two.resize(3);
    const auto third = three.acquire();
    CHECK(third);
    CHECK(eventually([&] { return two.permits() == 3; }));  // its watch tells
    CHECK_FALSE(three.try_acquire());
    CHECK(held);
  }

  TEST_CASE("after resize() the object knows the number at once, and others learn of more when they ask for more") {
    const auto path = fresh_path();
    client here{servers().connect_string(), quick()};
    client there{servers().connect_string(), quick()};
    semaphore ours{here, path, 1};
    semaphore theirs{there, path, 1};
    ours.acquire().release();
    theirs.acquire().release();
    for (std::uint32_t count = 2; count <= 20; ++count) {
      ours.resize(count);
      CHECK(ours.permits() == count);
      CHECK(ours.acquire(count));
      CHECK(theirs.acquire(count));
    }
    expire_session(there);
    REQUIRE(eventually([&] {
      const auto one = theirs.try_acquire();
      return static_cast<bool>(one);
    }));
    expire_session(there);
    ours.resize(30);
    CHECK(theirs.try_acquire_for(patience(), 30));
    CHECK(error_of([&] { auto none = theirs.try_acquire_for(patience(), 31); }) == errc::bad_option);
  }

  TEST_CASE("the number may be changed before the first call") {
    const auto path = fresh_path();
    client here{servers().connect_string(), quick()};
    semaphore permits{here, path, 1};
    permits.resize(2);
    CHECK(permits.permits() == 2);
    CHECK(permits.acquire(2));
    CHECK(servers().get(path) == R"({"permits":2})");
    semaphore careless{here, path, 5, {.contract = false}};
    CHECK(careless.acquire(5));
    CHECK(error_of([&] { careless.resize(1); }) == errc::bad_option);
    CHECK(error_of([&] { permits.resize(0); }) == errc::bad_option);
    CHECK(error_of([&] { semaphore none{here, path, 0}; }) == errc::bad_option);
  }

  LATCHKEY_TEST_CASES("a wait ends with its time, and with a stop, and leaves nothing", who, all_callers()) {
    const auto path = fresh_path();
    client here{servers().connect_string(), quick()};
    client there{servers().connect_string(), quick()};
    semaphore ours{here, path, 1};
    semaphore theirs{there, path, 1};
    auto held = theirs.acquire();
    CHECK_FALSE(ours.try_acquire_for(50ms));
    std::stop_source stop;
    group_of_actors all{who};
    all.start([&] { CHECK_FALSE(ours.acquire(stop.get_token())); });
    all.start([&] {
      REQUIRE(turns_waiting(path, 1));
      stop.request_stop();
    });
    all.join();
    held.release();
    CHECK(is_free(path));
  }

  TEST_CASE("a permit whose session expires is lost, and another client has it") {
    const auto path = fresh_path();
    client here{servers().connect_string(), quick()};
    client there{servers().connect_string(), quick()};
    semaphore ours{here, path, 1};
    semaphore theirs{there, path, 1};
    const auto held = ours.acquire();
    const auto lost = held.stop_token();
    expire_session(here);
    CHECK(held.grant().wait_for_end(patience()));
    CHECK(held.grant().loss().has_value());
    CHECK(eventually([&] { return lost.stop_requested(); }));
    CHECK(theirs.try_acquire_for(patience()));
  }

  TEST_CASE("a guard may be moved and outlive the semaphore and the client") {
    const auto path = fresh_path();
    guard kept;
    {
      client here{servers().connect_string(), quick()};
      {
        semaphore permits{here, path, 2};
        auto held = permits.acquire();
        kept = std::move(held);
        CHECK(kept);
        CHECK_FALSE(held);
        auto second = permits.acquire();
        kept = std::move(second);  // releases the first
        CHECK(leases(path, 1));
      }
      CHECK_FALSE(kept);
      CHECK(is_free(path));
    }
    kept.release();
  }

  TEST_CASE("a snapshot shows who has permits, and who waits; a holder is asked, or evicted") {
    const auto path = fresh_path();
    client here{servers().connect_string(), quick()};
    client there{servers().connect_string(), quick()};
    semaphore ours{here, path, 2};
    semaphore theirs{there, path, 2};
    CHECK(to_string(queue_snapshot{here, path}).find("not held") != std::string::npos);
    const auto held = ours.acquire(2);
    std::jthread waits{[&](std::stop_token stop) { CHECK_FALSE(theirs.acquire(std::move(stop))); }};
    REQUIRE(turns_waiting(path, 1));
    REQUIRE(leases(path, 3));  // the waiter counts with a lease of its own
    const queue_snapshot seen{here, path};
    REQUIRE(seen.holders().size() == 2);
    REQUIRE(seen.waiters().size() == 1);
    CHECK(seen.holders()[0].what == contender::kind::permit);
    CHECK(seen.holders()[0].session == here.session_id());
    CHECK(seen.waiters()[0].session == there.session_id());
    CHECK(to_string(seen).find("permit held by") != std::string::npos);
    waits.request_stop();
    waits.join();
    const auto asked = held.grant().release_token();
    CHECK(ask_to_release(there, path) == 2);
    CHECK(eventually([&] { return asked.stop_requested(); }));
    CHECK(evict(there, path, seen.holders()[1].node));
    CHECK(held.grant().wait_for_end(patience()));
    CHECK(held.grant().loss() == loss_reason::node_deleted);
  }
}

}  // namespace latchkey::testing
