// SPDX-License-Identifier: Apache-2.0
/// Which locks there are, and the first contenders of a long queue.

#include <latchkey/election.hpp>
#include <latchkey/fair_mutex.hpp>
#include <latchkey/find_locks.hpp>
#include <latchkey/mutex.hpp>
#include <latchkey/queue_snapshot.hpp>
#include <latchkey/queue_view.hpp>
#include <latchkey/semaphore.hpp>
#include <latchkey/shared_mutex.hpp>

#include <future>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "callers.hpp"
#include "error_of.hpp"

namespace latchkey::testing {
namespace {

using found = std::vector<found_lock>;

/// @returns how many lists and reads `what` costs this client, which sends none of its own.
template <class Callable>
std::uint64_t reads(const client& of, Callable what) {
  const auto before = of.metrics().reads;
  what();
  return of.metrics().reads - before;
}

}  // namespace

TEST_CASE_TEMPLATE("the locks below a path are found, with the number of their contenders", callers, LATCHKEY_CALLERS) {
  simulated_ensemble ensemble;
  client one{ensemble};
  client two{ensemble};
  mutex nightly{one, "/locks/nightly"};
  shared_mutex config{one, "/locks/deep/down/config"};
  shared_mutex config_of_two{two, "/locks/deep/down/config"};
  mutex beside{one, "/others/nightly"};
  mutex idle{one, "/locks/idle"};
  { const auto used = idle.acquire(); }
  REQUIRE(queued(ensemble, "/locks/idle", 0));
  const auto held = nightly.acquire();
  const auto reads = config.acquire_shared();
  const auto also_reads = config_of_two.acquire_shared();
  const auto held_too = beside.acquire();
  mutex of_two{two, "/locks/nightly"};
  auto next = callers::start([&] { return of_two.acquire(); });
  REQUIRE(queued(ensemble, "/locks/nightly", 2));
  const found below{{"/locks/deep/down/config", 2, false}, {"/locks/nightly", 2, false}};
  CHECK(find_locks(two, "/locks") == below);
  CHECK(find_locks(two, "/locks/nightly") == found{{"/locks/nightly", 2, false}});
  CHECK(find_locks(two, "/") == found{below[0], below[1], {"/others/nightly", 1, false}});
  CHECK(find_locks(two, "/locks/idle").empty());
  CHECK(find_locks(two, "/not/there").empty());
  one.close();
  CHECK(next.get());
}

TEST_CASE("a lock below a lock is found, and an election") {
  simulated_ensemble ensemble;
  client owner{ensemble};
  mutex above{owner, "/a"};
  mutex below{owner, "/a/b"};
  election stands{owner, "/e", {.id = "ann"}};
  const auto held = above.acquire();
  const auto also_held = below.acquire();
  const auto leads = stands.acquire();
  CHECK(find_locks(owner, "/") == found{{"/a", 1, false}, {"/a/b", 1, false}, {"/e", 1, false}});
}

TEST_CASE_TEMPLATE("a semaphore is found at its path, not at its folders", callers, LATCHKEY_CALLERS) {
  simulated_ensemble ensemble;
  client one{ensemble};
  client two{ensemble};
  semaphore permits{one, "/s", 2};
  semaphore of_two{two, "/s", 2};
  auto first = permits.acquire();
  auto second = permits.acquire();
  auto third = callers::start([&] { return of_two.acquire(); });
  // The first who waits has its lease already.
  REQUIRE(queued(ensemble, "/s/leases", 3));
  CHECK(find_locks(two, "/") == found{{"/s", 4, true}});
  first.release();
  CHECK(third.get());
}

TEST_CASE("locks that are named as the folders of a semaphore are locks") {
  simulated_ensemble ensemble;
  client owner{ensemble};
  mutex leases{owner, "/s/leases"};
  mutex locks{owner, "/s/locks"};
  const auto held = leases.acquire();
  const auto held_too = locks.acquire();
  CHECK(find_locks(owner, "/s") == found{{"/s/leases", 1, false}, {"/s/locks", 1, false}});
  CHECK(find_locks(owner, "/s/locks") == found{{"/s/locks", 1, false}});
}

TEST_CASE("a search stops at its limits") {
  simulated_ensemble ensemble;
  client owner{ensemble};
  mutex shallow{owner, "/r/a"};
  mutex deep{owner, "/r/b/c"};
  const auto held = shallow.acquire();
  const auto held_too = deep.acquire();
  CHECK(find_locks(owner, "/r", {.deepest = 1}) == found{{"/r/a", 1, false}});
  CHECK(find_locks(owner, "/r", {.deepest = 2}).size() == 2);
  CHECK(find_locks(owner, "/r", {.deepest = 0}).empty());
  CHECK(find_locks(owner, "/r", {.most_nodes = 4}).size() == 2);  // r, a, b, c
  client looks{ensemble, {.keep_lease_ready = false}};
  CHECK(looks.wait_for_connection(30s));
  CHECK(reads(looks, [&] { find_locks(looks, "/r"); }) == 4);
  CHECK(error_of([&] { find_locks(owner, "/r", {.most_nodes = 3}); }) == errc::too_large);
  CHECK(find_locks(owner, "/r", {}, 0s).size() == find_locks(owner, "/r").size());  // for 200 ms
  CHECK_NOTHROW(find_locks(owner, "/r", {}, -1s));
  CHECK(error_of([&] { find_locks(owner, "r"); }) == errc::bad_path);
  CHECK(error_of([&] { find_locks(owner, ""); }) == errc::bad_path);
  ensemble.cut(looks);
  CHECK(error_of([&] { find_locks(looks, "/r", {}, 10ms); }) == errc::unreachable);
  ensemble.heal(looks);
  looks.close();
  CHECK(error_of([&] { find_locks(looks, "/r"); }) == errc::closed);
}

TEST_CASE_TEMPLATE("of a long queue only the first contenders are read, and all are counted", callers,
                   LATCHKEY_CALLERS) {
  simulated_ensemble ensemble;
  client one{ensemble, {.label = "one"}};
  client looks{ensemble, {.keep_lease_ready = false}};
  fair_mutex line{one, "/q"};
  const auto held = line.acquire();
  std::vector<ticket> places;
  for (int i = 0; i < 4; ++i) places.push_back(line.enqueue());
  REQUIRE(queued(ensemble, "/q", 5));
  const queue_snapshot first{looks, "/q", 10s, 2};
  CHECK(first.contenders().size() == 2);
  CHECK(first.holders().size() == 1);
  CHECK(first.holders()[0].label == "one");
  CHECK(first.holder_count() == 1);
  CHECK(first.waiter_count() == 4);
  CHECK(to_string(first).ends_with("4 waiting"));
  const queue_snapshot none{looks, "/q", 10s, 0};
  CHECK(none.contenders().empty());
  CHECK(none.holder_count() == 1);
  CHECK(none.waiter_count() == 4);
  CHECK(to_string(none) == "/q: held, 4 waiting");
  CHECK(reads(looks, [&] { queue_snapshot(looks, "/q", 10s, 2); }) == 3);
  CHECK(reads(looks, [&] { queue_snapshot(looks, "/q", 10s, 0); }) == 1);
  const queue_snapshot all{looks, "/q"};
  CHECK(all.contenders().size() == 5);
  CHECK(all.waiter_count() == 4);
}

TEST_CASE("holders that are not read are counted as holders") {
  simulated_ensemble ensemble;
  client owner{ensemble, {.label = "owner"}};
  semaphore permits{owner, "/s", 3};
  const auto held = permits.acquire(3);
  const queue_snapshot first{owner, "/s", 10s, 1};
  CHECK(first.contenders().size() == 1);
  CHECK(first.holder_count() == 3);
  CHECK(first.waiter_count() == 0);
  CHECK(to_string(first).find(" and 2 more since ") != std::string::npos);
}

TEST_CASE("a view is told of the holder of a lock, and outlives its client") {
  simulated_ensemble ensemble;
  client owner{ensemble};
  client looks{ensemble};
  mutex lock{owner, "/q"};
  const auto held = lock.acquire();
  std::promise<queue_sighting> told;
  bool first = true;
  queue_view view{looks, "/q", [&](const queue_sighting& seen) {
                    if (seen.known && std::exchange(first, false)) told.set_value(seen);
                  }};
  CHECK(view.path() == "/q");
  const auto seen = told.get_future().get();
  REQUIRE(seen.places.size() == 1);
  CHECK(seen.places[0] == queue_place{ensemble.children("/q")[0], contender::kind::lock, true});
  CHECK(view.now() == seen);
  looks.close();
  CHECK(view.now() == queue_sighting{});
  CHECK(error_of([&] { queue_view another(looks, "/q"); }) == errc::closed);
  CHECK(error_of([&] { queue_view another(owner, "q"); }) == errc::bad_path);
}

}  // namespace latchkey::testing
