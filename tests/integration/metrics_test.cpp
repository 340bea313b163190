// SPDX-License-Identifier: Apache-2.0
/// What a client counts of its locks, and tells a tracer.

#include <latchkey/fair_mutex.hpp>
#include <latchkey/metrics.hpp>
#include <latchkey/mutex.hpp>
#include <latchkey/queue_snapshot.hpp>
#include <latchkey/shared_mutex.hpp>

#include <functional>
#include <mutex>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "support/reached.hpp"
#include "support/two_clients.hpp"

namespace latchkey::testing {
namespace {

constexpr auto of_test = "of the test";

/// @returns what the client has counted of the locks of the test.
lock_metrics numbers(const client& of) {
  for (const auto& each : of.metrics().locks) {
    if (each.group == of_test) return each;
  }
  return {};
}

/// A lock of a client that counts, and the same one of another.
struct counted_lock {
  std::string path = fresh_path();
  client one{servers().connect_string(), quick()};
  client two{servers().connect_string(), quick()};
  mutex lock{one, path, {.group = of_test}};
  mutex rival{two, path};

  counted_lock() { REQUIRE(missing_connection(one) == ""); }
};

/// What is done with a lock, and the counters that change; `granted` of all grants is the sum of those that ended.
struct scenario {
  const char* what;
  std::function<void(counted_lock&)> run;
  std::vector<std::pair<std::uint64_t lock_metrics::*, std::uint64_t>> changed;
};

using m = lock_metrics;

const scenario scenarios[] = {
    {"a free lock",
     [](counted_lock& w) { const auto held = w.lock.acquire(); },
     {{&m::granted, 1}, {&m::granted_at_once, 1}, {&m::released, 1}}},
    {"a lock that another client holds",
     [](counted_lock& w) {
       auto held = w.rival.acquire();
       on_threads other;
       other.start([&] { w.lock.acquire().release(); });
       REQUIRE(queued(w.path, 2));
       CHECK(numbers(w.one).waiting == 1);
       held.release();
       other.join();
     },
     {{&m::granted, 1}, {&m::released, 1}}},
    {"two callers of one object",
     [](counted_lock& w) {
       auto held = w.lock.acquire();
       on_threads other;
       other.start([&] { w.lock.acquire().release(); });
       CHECK(eventually([&] { return numbers(w.one).waiting == 1; }));
       held.release();
       other.join();
     },
     {{&m::granted, 2}, {&m::granted_at_once, 1}, {&m::turns, 1}, {&m::released, 2}}},
    {"a lock that is kept for the next caller",
     [](counted_lock& w) {
       mutex lingering{w.one, w.path, {.linger = 1h, .group = of_test}};
       lingering.acquire().release();
       lingering.acquire().release();
     },
     {{&m::granted, 2}, {&m::granted_at_once, 1}, {&m::lingered, 1}, {&m::released, 2}}},
    {"a try that finds a holder",
     [](counted_lock& w) {
       const auto held = w.rival.acquire();
       CHECK(!w.lock.try_lock());
     },
     {{&m::refused, 1}}},
    {"a call whose time is over",
     [](counted_lock& w) {
       const auto held = w.rival.acquire();
       CHECK(!w.lock.try_lock_for(20ms));
     },
     {{&m::timed_out, 1}}},
    {"a call that is stopped",
     [](counted_lock& w) {
       const auto held = w.rival.acquire();
       std::stop_source stop;
       on_threads other;
       other.start([&] { CHECK(!w.lock.lock(stop.get_token())); });
       REQUIRE(queued(w.path, 2));
       stop.request_stop();
       other.join();
     },
     {{&m::cancelled, 1}}},
    {"a call of a client that is closed",
     [](counted_lock& w) {
       const auto held = w.rival.acquire();
       on_threads other;
       other.start([&] { CHECK_THROWS_AS(w.lock.lock(), error); });
       REQUIRE(queued(w.path, 2));
       w.one.close();
       other.join();
     },
     {{&m::failed, 1}}},
    {"a holder that is asked to release",
     [](counted_lock& w) {
       const auto held = w.lock.acquire();
       CHECK(!held.grant().asked_to_release());
       ask_to_release(w.two, w.path);
       CHECK(eventually([&] { return held.grant().asked_to_release(); }));
     },
     {{&m::granted, 1}, {&m::granted_at_once, 1}, {&m::asked_to_release, 1}, {&m::released, 1}}},
    {"a ticket of a fair lock",
     [](counted_lock& w) {
       fair_mutex fair{w.one, w.path, {.group = of_test}};
       auto place = fair.enqueue();
       place.wait();
       fair.unlock();
     },
     {{&m::granted, 1}, {&m::granted_at_once, 1}, {&m::released, 1}}},
    {"readers who join, and a writer who becomes one",
     [](counted_lock& w) {
       shared_mutex shared{w.one, w.path, {.group = of_test}};
       auto first = shared.acquire_shared();
       elsewhere([&] { shared.acquire_shared().release(); });
       CHECK(numbers(w.one).held == 1);
       CHECK(!shared.try_lock());
       first.release();
       const auto reading = shared.downgrade(shared.acquire());
     },
     {{&m::granted, 4}, {&m::granted_at_once, 2}, {&m::turns, 2}, {&m::released, 4}, {&m::refused, 1}}},
};

const std::pair<const char*, std::uint64_t m::*> all_counters[] = {
    {"granted", &m::granted},     {"granted_at_once", &m::granted_at_once},
    {"turns", &m::turns},         {"lingered", &m::lingered},
    {"released", &m::released},   {"refused", &m::refused},
    {"timed_out", &m::timed_out}, {"cancelled", &m::cancelled},
    {"failed", &m::failed},       {"asked_to_release", &m::asked_to_release},
    {"waiting", &m::waiting},     {"held", &m::held}};

/// The spans that a tracer is told.
class recorded_spans {
 public:
  client_options options() {
    auto result = quick();
    result.trace = [this](const trace_span& each) {
      const std::lock_guard lock{mutex_};
      spans_.push_back(each);
    };
    return result;
  }
  std::vector<trace_span> wait_for(std::size_t count) {
    CHECK(eventually([&] {
      const std::lock_guard lock{mutex_};
      return spans_.size() >= count;
    }));
    const std::lock_guard lock{mutex_};
    return spans_;
  }

 private:
  std::mutex mutex_;
  std::vector<trace_span> spans_;
};

}  // namespace

TEST_SUITE("metrics") {
  TEST_CASE("each outcome of a call and of a grant is counted, and nothing else") {
    for (const auto& each : scenarios) {
      CAPTURE(std::string{each.what});
      counted_lock w;
      each.run(w);
      const auto now = numbers(w.one);
      for (const auto& [name, counter] : all_counters) {
        CAPTURE(name);
        std::uint64_t expected = 0;
        for (const auto& [which, value] : each.changed) expected = which == counter ? value : expected;
        CHECK(now.*counter == expected);
      }
      CHECK(now.hold.count == now.released);
      for (const auto lost : now.lost) CHECK(lost == 0);
    }
  }

  TEST_CASE("a lost grant is counted by its reason, and its hold has ended") {
    counted_lock w;
    const auto held = w.lock.acquire();
    CHECK(numbers(w.one).held == 1);
    servers().remove(w.path + "/" + queue_at(w.path).front());
    CHECK(eventually([&] { return !held.grant(); }));
    const auto now = numbers(w.one);
    CHECK(now.lost[static_cast<std::size_t>(loss_reason::node_deleted)] == 1);
    CHECK(now.held == 0);
    CHECK(now.hold.count == 1);
    CHECK(now.released == 0);
  }

  TEST_CASE("the client counts its requests and connections, and locks without a group are together") {
    counted_lock w;
    mutex other{w.one, w.path + "/a"};
    other.acquire().release();
    mutex b{w.one, w.path + "/b"};
    b.acquire().release();
    const auto now = w.one.metrics();
    CHECK(now.connections == 1);
    CHECK(now.sessions == 1);
    CHECK(now.writes >= 2);
    CHECK(now.reads >= 2);
    CHECK(now.request.count > 0);
    CHECK(now.request.quantile(0.5) > 0ns);
    REQUIRE(now.locks.size() == 2);
    CHECK(now.locks[0].group == "");
    CHECK(now.locks[0].granted == 2);
    CHECK(now.locks[0].wait.count == 2);
  }

  TEST_CASE("a client with peers counts who was admitted by datagram") {
    const auto path = fresh_path();
    auto options = quick(24s);
    options.peers.emplace();
    reached_by_proxy here{options};
    client two{servers().connect_string(), options};
    fair_mutex first{here.owner, path, {.how = hand_off::direct}};
    fair_mutex second{two, path, {.how = hand_off::direct}};
    auto held = first.acquire();
    auto place = second.enqueue();
    REQUIRE(eventually([&] { return two.metrics().peers->acknowledged == 1; }));
    here.net.black_hole();
    held.release();
    CHECK(place.acquire());
    const auto now = *two.metrics().peers;
    CHECK(now.admitted == 1);
    CHECK(now.subscriptions == 1);
    CHECK(here.owner.metrics().peers->admitted == 0);
    here.net.heal();
    CHECK_FALSE(client{servers().connect_string(), quick()}.metrics().peers);
  }

  TEST_CASE("a tracer is told of each wait and each hold, when it has ended") {
    recorded_spans told;
    const auto path = fresh_path();
    client one{servers().connect_string(), told.options()};
    mutex lock{one, path};
    const auto start = boottime_clock::now();
    auto held = lock.acquire();
    const auto fence = held.grant().fence();
    CHECK(!lock.try_lock());
    held.release();
    const auto spans = told.wait_for(3);
    REQUIRE(spans.size() == 3);
    const auto& [granted, refused, released] = std::tie(spans[0], spans[1], spans[2]);
    CHECK(to_string(granted.what) == "wait");
    CHECK(to_string(granted.how) == "granted");
    CHECK(to_string(refused.how) == "refused");
    CHECK(to_string(released.what) == "hold");
    CHECK(to_string(released.how) == "released");
    CHECK(released.fence == fence);
    for (const auto& each : spans) {
      CHECK(each.path == path);
      CHECK(start <= each.begin);
      CHECK(each.begin <= each.end);
      CHECK(each.end <= boottime_clock::now());
    }
    CHECK(granted.end <= released.begin);
  }
}

}  // namespace latchkey::testing
