// SPDX-License-Identifier: Apache-2.0
/// Coroutines that wait, step by step.

#include <latchkey/any_lock.hpp>
#include <latchkey/async.hpp>
#include <latchkey/election.hpp>
#include <latchkey/fair_mutex.hpp>
#include <latchkey/keyed_mutex.hpp>
#include <latchkey/multi_lock.hpp>
#include <latchkey/mutex.hpp>
#include <latchkey/reentrant_mutex.hpp>
#include <latchkey/robust_mutex.hpp>
#include <latchkey/semaphore.hpp>
#include <latchkey/sequencer.hpp>
#include <latchkey/shared_mutex.hpp>
#include <latchkey/transaction.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <coroutine>
#include <cstdint>
#include <exception>
#include <functional>
#include <future>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include <latchkey/testing/simulated_ensemble.hpp>

#include "callers.hpp"
#include "coroutines.hpp"
#include "error_of.hpp"

namespace latchkey::testing {
namespace {

/// A lock of any kind, each with a client of its own.
struct other_lock {
  std::string name;
  std::function<job<guard>(stepped&, std::stop_token)> acquire;
  std::function<job<guard>(stepped&)> try_acquire;
  std::function<job<guard>(stepped&, std::chrono::milliseconds)> try_acquire_for;
  std::function<void()> destroy;
};

template <class Begin>
job<guard> awaits(Begin begin) {
  co_return co_await begin();
}

/// @returns the lock that `Calls` waits for, made of these arguments.
template <class Calls, class... Args>
other_lock other(const std::string& name, Args&&... args) {
  const auto calls = std::make_shared<std::unique_ptr<Calls>>(std::make_unique<Calls>(std::forward<Args>(args)...));
  return {name,
          [calls](stepped& at, std::stop_token stop) {
            return awaits([&, calls] { return (*calls)->acquire(at.where(), stop); });
          },
          [calls](stepped& at) { return awaits([&, calls] { return (*calls)->try_acquire(at.where()); }); },
          [calls](stepped& at, std::chrono::milliseconds timeout) {
            return awaits([&, calls] { return (*calls)->try_acquire_for(at.where(), timeout, {}); });
          },
          [calls] { *calls = nullptr; }};
}

/// @returns makers of a lock of each kind at a path, which waits while somebody else has a mutex there.
std::vector<std::function<other_lock(client&, const std::string&)>> all_kinds() {
  using paths = std::vector<std::string>;
  using options = election_options;
  return {
      [](auto& owner, auto& path) { return other<calls_of<mutex>>("mutex", owner, path); },
      [](auto& owner, auto& path) { return other<calls_of<robust_mutex>>("robust mutex", owner, path); },
      [](auto& owner, auto& path) { return other<calls_of<fair_mutex>>("fair mutex", owner, path); },
      [](auto& owner, auto& path) { return other<calls_of<shared_mutex>>("writer", owner, path); },
      [](auto& owner, auto& path) {
        return other<calls_of<multi_lock>>("several", owner, paths{path, path + "-too"});
      },
      [](auto& owner, auto& path) { return other<calls_of<any_lock>>("any", owner, paths{path}); },
      [](auto& owner, auto& path) {
        return other<calls_of<election>>("candidate", owner, path, options{.as = options::naming::selector});
      },
      [](auto& owner, auto& path) { return other<calls_of_reader>("reader", owner, path); },
      [](auto& owner, auto& path) { return other<calls_of_key>("key", owner, path); },
  };
}

/// @returns what it has returned; lets it go on if it must. @throws what it has thrown
template <class Value>
Value& value_of(job<Value>& of, stepped& at) {
  if (!of.over()) at.step();
  return of.value();
}
template <class Value>
Value value_of(job<Value>&& of, stepped& at) {
  return std::move(value_of(of, at));
}

lazy takes(mutex& lock, stepped& at) { co_return co_await co_acquire(lock, at.where()); }

job<guard> takes_by_another(mutex& lock, stepped& at) { co_return co_await takes(lock, at); }

/// Somebody has the lock, and a coroutine of each kind is to have it.
template <class Callable>
void for_each_lock(Callable what) {
  simulated_ensemble ensemble;
  client first{ensemble};
  client second{ensemble};
  int number = 0;
  for (const auto& make : all_kinds()) {
    const auto path = "/locks/a" + std::to_string(++number);
    mutex holder{first, path};
    auto lock = make(second, path);
    CAPTURE(lock.name);
    auto held = holder.acquire();
    stepped at;
    what(ensemble, path, held, lock, at);
    held.release();
    CHECK(queued(ensemble, path, 0));
  }
}

}  // namespace

TEST_CASE("a coroutine waits for a lock of any kind, and goes on where it is told to") {
  for_each_lock([](auto& ensemble, const auto& path, auto& held, auto& lock, auto& at) {
    auto waits = lock.acquire(at, {});
    CHECK(queued(ensemble, path, 2));
    CHECK_FALSE(waits.over());
    CHECK(at.size() == 0);
    held.release();
    at.step();
    REQUIRE(waits.over());
    CHECK(waits.value());
    CHECK(queued(ensemble, path, 1));
    waits.value().release();
  });
}

TEST_CASE("a stop request ends the wait of a coroutine") {
  for_each_lock([](auto& ensemble, const auto& path, auto&, auto& lock, auto& at) {
    std::stop_source stop;
    auto waits = lock.acquire(at, stop.get_token());
    CHECK(queued(ensemble, path, 2));
    stop.request_stop();
    at.step();
    CHECK_FALSE(waits.value());
    CHECK(queued(ensemble, path, 1));
    auto late = lock.acquire(at, stop.get_token());
    REQUIRE(late.over());
    CHECK_FALSE(late.value());
    CHECK(at.size() == 0);
  });
}

TEST_CASE("a try, and a call whose time is over, do not take the lock") {
  for_each_lock([](auto& ensemble, const auto& path, auto& held, auto& lock, auto& at) {
    auto once = lock.try_acquire(at);
    CHECK_FALSE(value_of(once, at));
    auto timed = lock.try_acquire_for(at, 20ms);
    at.step();
    CHECK_FALSE(timed.value());
    CHECK(queued(ensemble, path, 1));
    held.release();
    auto long_enough = lock.try_acquire_for(at, 1h);
    CHECK(value_of(long_enough, at));
  });
}

TEST_CASE("a coroutine that is destroyed while it waits leaves nothing, and nobody behind it waits") {
  for_each_lock([](auto& ensemble, const auto& path, auto& held, auto& lock, auto& at) {
    auto gone = lock.acquire(at, {});
    CHECK(queued(ensemble, path, 2));
    auto behind = lock.acquire(at, {});
    gone.destroy();
    CHECK(at.size() == 0);
    held.release();
    at.step();
    CHECK(behind.value());
  });
}

TEST_CASE("a lock that is granted to a coroutine which is destroyed before it goes on is free again") {
  for_each_lock([](auto& ensemble, const auto& path, auto& held, auto& lock, auto& at) {
    auto gone = lock.acquire(at, {});
    CHECK(queued(ensemble, path, 2));
    held.release();
    const auto too_late = at.take();
    gone.destroy();
    too_late();  // an executor runs it all the same
    CHECK(queued(ensemble, path, 0));
    auto next = lock.acquire(at, {});
    CHECK(value_of(next, at));
  });
}

TEST_CASE(
    "a lock object may be destroyed while a coroutine waits for it, or has been granted it and does not know yet") {
  for_each_lock([](auto& ensemble, const auto& path, auto&, auto& lock, auto& at) {
    auto waits = lock.acquire(at, {});
    CHECK(queued(ensemble, path, 2));
    lock.destroy();
    at.step();
    CHECK(error_of([&] { waits.value(); }) == errc::lock_destroyed);
    CHECK(queued(ensemble, path, 1));
  });
  for_each_lock([](auto& ensemble, const auto& path, auto& held, auto& lock, auto& at) {
    auto waits = lock.acquire(at, {});
    CHECK(queued(ensemble, path, 2));
    held.release();
    const auto next = at.take();
    lock.destroy();
    next();
    CHECK(error_of([&] { waits.value(); }) == errc::lock_destroyed);
  });
}

TEST_CASE("a client that is closed ends the waits of its coroutines") {
  simulated_ensemble ensemble;
  client first{ensemble};
  mutex holder{first, "/l/x"};
  const auto held = holder.acquire();
  for (const auto& make : all_kinds()) {
    client owner{ensemble};
    auto lock = make(owner, "/l/x");
    CAPTURE(lock.name);
    stepped at;
    auto waits = lock.acquire(at, {});
    CHECK(queued(ensemble, "/l/x", 2));
    owner.close();
    at.step();
    CHECK(error_of([&] { waits.value(); }) == errc::closed);
    CHECK(error_of([&] { lock.acquire(at, {}).value(); }) == errc::closed);
    CHECK(queued(ensemble, "/l/x", 1));
  }
}

TEST_CASE("a lock that is free for its object is taken without a suspension") {
  simulated_ensemble ensemble;
  client owner{ensemble};
  mutex lock{owner, "/m", {.linger = 1h}};
  lock.acquire().release();
  stepped at;
  auto taken = awaits([&] { return co_acquire(lock, at.where()); });
  CHECK(taken.over());
  CHECK(at.size() == 0);
  auto second = awaits([&] { return co_acquire(lock, at.where()); });
  CHECK_FALSE(second.over());
  taken.value().release();  // on this thread: the turn passes at once
  CHECK_FALSE(second.over());
  at.step();
  CHECK(second.value());
}

TEST_CASE("threads and coroutines have turns in the order of their arrival") {
  simulated_ensemble ensemble;
  client owner{ensemble};
  mutex lock{owner, "/m"};
  auto held = lock.acquire();
  stepped at;
  const auto wait_for = [&](std::uint64_t waiting) {
    while (owner.metrics().locks[0].waiting != waiting) std::this_thread::yield();
  };
  auto first = awaits([&] { return co_acquire(lock, at.where()); });
  auto second = on_threads::start([&] { lock.acquire().release(); });
  wait_for(2);
  auto third = awaits([&] { return co_acquire(lock, at.where()); });
  held.release();
  at.step();
  REQUIRE(first.over());
  CHECK(at.size() == 0);
  first.value().release();
  second.get();
  at.step();
  CHECK(third.value());
}

TEST_CASE("what is made and not awaited, or moved first, is given back all the same") {
  simulated_ensemble ensemble;
  client owner{ensemble};
  mutex lock{owner, "/m"};
  stepped at;
  { const auto never = co_acquire(lock, at.where()); }
  auto taken = awaits([&] {
    auto one = co_acquire(lock, at.where());
    auto moved = std::move(one);
    return moved;
  });
  CHECK(value_of(taken, at));
}

TEST_CASE("a place where coroutines go on that runs them at once hangs nobody") {
  simulated_ensemble ensemble;
  client owner{ensemble};
  mutex lock{owner, "/m"};
  auto held = lock.acquire();
  auto waits = awaits([&] { return co_acquire(lock, [](const resumption& next) { next(); }); });
  held.release();
  CHECK(waits.value());
}

TEST_CASE("where a coroutine goes on is not in use once it has gone on") {
  simulated_ensemble ensemble;
  client owner{ensemble};
  mutex lock{owner, "/m"};
  for (int round = 0; round < 20; ++round) {
    auto held = lock.acquire();
    auto in_use = std::make_unique<std::atomic<bool>>(false);
    pool one{1};
    auto next = awaited<guard>([&] {
      return co_acquire(lock, [&one, flag = in_use.get()](resumption goes_on) {
        *flag = true;
        one.post(std::move(goes_on));
        std::this_thread::sleep_for(2ms);  // the coroutine is ready long before this returns
        *flag = false;
      });
    });
    std::thread{[&] { held.release(); }}.join();
    auto taken = next.get();
    CHECK(taken);
    CHECK_FALSE(*in_use);
  }
}

TEST_CASE("a coroutine waits for permits, for one and for several") {
  simulated_ensemble ensemble;
  client one{ensemble};
  client two{ensemble};
  semaphore first{one, "/s", 3};
  semaphore second{two, "/s", 3};
  stepped at;
  auto held = first.acquire(2);
  auto few = awaits([&] { return co_try_acquire(second, 2, at.where()); });
  CHECK_FALSE(value_of(few, at));
  auto timed = awaits([&] { return co_try_acquire_for(second, 2, at.where(), 20ms); });
  at.step();
  CHECK_FALSE(timed.value());
  auto single = awaits([&] { return co_acquire(second, at.where()); });
  CHECK(value_of(single, at));
  auto several = awaits([&] { return co_acquire(second, 2, at.where()); });
  auto gone = awaits([&] { return co_acquire(second, 3, at.where()); });
  gone.destroy();
  held.release();
  at.step();
  CHECK(several.value());
  CHECK_FALSE(first.try_acquire());
  CHECK(error_of([&] { const auto none = co_acquire(second, 0, at.where()); }) == errc::bad_option);
  second.resize(5);
  auto more = awaits([&] { return co_acquire(first, 2, at.where()); });  // of a number that `first` must learn
  CHECK(value_of(more, at));
}

TEST_CASE("a coroutine that asks for more permits than its object knows of learns their number first") {
  simulated_ensemble ensemble;
  client one{ensemble};
  client two{ensemble};
  semaphore first{one, "/s", 2};
  first.acquire().release();
  ensemble.expire_session(one);  // nothing is watched now
  semaphore second{two, "/s", 2};
  second.resize(5);
  stepped at;
  auto many = awaits([&] { return co_acquire(first, 5, at.where()); });
  CHECK(value_of(many, at));
}

TEST_CASE("a coroutine takes the locks of several keys") {
  simulated_ensemble ensemble;
  client one{ensemble};
  client two{ensemble};
  keyed_mutex first{one, "/keys"};
  keyed_mutex second{two, "/keys"};
  stepped at;
  auto held = first.lock("b");
  auto all = awaits([&] { return co_acquire_all(second, {"a", "b", "c"}, at.where()); });
  held.release();
  at.step();
  CHECK(all.value());
  CHECK_FALSE(first.try_lock("c"));
  auto stripes = std::make_unique<keyed_mutex>(two, "/keys", keyed_options{.stripes = 7});
  auto other_number = awaits([&] { return co_acquire(*stripes, "a", at.where()); });
  CHECK(error_of([&] { value_of(other_number, at); }) == errc::contract_mismatch);
}

TEST_CASE("a coroutine takes a place in the line, and waits with it later") {
  simulated_ensemble ensemble;
  client one{ensemble};
  client two{ensemble};
  fair_mutex first{one, "/f"};
  fair_mutex second{two, "/f"};
  stepped at;
  auto held = first.acquire();
  const auto takes_place = [&]() -> job<ticket> { co_return co_await co_enqueue(second, at.where()); };
  auto place = value_of(takes_place(), at);
  CHECK(place.ahead() == 1);
  auto too_short = awaits([&] { return co_try_acquire_for(place, at.where(), 20ms); });
  at.step();
  CHECK_FALSE(too_short.value());
  CHECK_FALSE(place.spent());
  auto waits = awaits([&] { return co_acquire(place, at.where()); });
  held.release();
  at.step();
  CHECK(waits.value());
  CHECK(place.spent());
  auto another = second.enqueue();
  auto called_off = awaits([&] { return co_acquire(another, at.where()); });
  another.cancel();
  at.step();
  CHECK_THROWS_AS(called_off.value(), std::system_error);
  auto left = takes_place();
  if (!left.over()) at.take();
  left.destroy();
  waits.value().release();
  CHECK(queued(ensemble, "/f", 0));
}

TEST_CASE("a coroutine waits for the end of a grant") {
  simulated_ensemble ensemble;
  client owner{ensemble};
  mutex lock{owner, "/m"};
  stepped at;
  const auto ends = [&](const grant& of, std::stop_token stop) -> job<bool> {
    co_return co_await co_ended(of, at.where(), std::move(stop));
  };
  CHECK(ends({}, {}).value());
  auto held = lock.acquire();
  auto unlocked = ends(held.grant(), {});
  CHECK_FALSE(unlocked.over());
  held.release();
  at.step();
  CHECK(unlocked.value());
  held = lock.acquire();
  auto lost = ends(held.grant(), {});
  std::stop_source stop;
  auto stopped = ends(held.grant(), stop.get_token());
  stop.request_stop();
  at.step();
  CHECK_FALSE(stopped.value());
  auto gone = ends(held.grant(), {});
  gone.destroy();
  ensemble.expire_session(owner);
  at.step();
  CHECK(lost.value());
  CHECK(at.size() == 0);
}

TEST_CASE("a coroutine commits, reads, asks about a sequencer, and waits for the connection") {
  simulated_ensemble ensemble;
  client owner{ensemble};
  stepped at;
  const auto connects = [&]() -> job<bool> { co_return co_await co_connected(owner, at.where(), 10s); };
  CHECK(value_of(connects(), at));
  mutex lock{owner, "/m"};
  auto held = lock.acquire();
  const auto commits = [&](transaction& what) -> job<commit_result> { co_return co_await co_commit(what, at.where()); };
  transaction first{owner, held.grant()};
  first.create("/m/data", "one");
  CHECK(value_of(commits(first), at).what == commit_result::outcome::committed);
  const auto reads = [&]() -> job<stored_value> { co_return co_await co_read(owner, "/m/data", at.where()); };
  CHECK(value_of(reads(), at).data == "one");
  const auto checks = [&](const sequencer& of) -> job<bool> {
    co_return co_await co_check_sequencer(owner, of, at.where());
  };
  const auto of = sequencer_of(held.grant());
  CHECK(value_of(checks(of), at));
  const auto releases = [&](transaction& what) -> job<commit_result> {
    co_return co_await co_commit_and_release(what, at.where());
  };
  transaction second{owner, held.grant()};
  second.set("/m/data", "two");
  CHECK(value_of(releases(second), at).what == commit_result::outcome::committed);
  CHECK_FALSE(held);
  held.release();
  CHECK_FALSE(value_of(checks(of), at));
  CHECK(value_of(commits(second), at).what == commit_result::outcome::lock_lost);
  transaction none{owner, {}};
  CHECK(value_of(commits(none), at).what == commit_result::outcome::lock_lost);
}

TEST_CASE("a coroutine that awaits another one which waits goes on by symmetric transfer, or ends with it") {
  simulated_ensemble ensemble;
  client owner{ensemble};
  mutex lock{owner, "/m"};
  stepped at;
  auto held = lock.acquire();
  auto first = takes_by_another(lock, at);
  auto gone = takes_by_another(lock, at);
  gone.destroy();
  held.release();
  at.step();
  REQUIRE(first.over());
  CHECK(first.value());
  first.value().release();
  CHECK(lock.try_lock());
  lock.unlock();
}

template <class Lock>
void take_turns(int many) {
  simulated_ensemble ensemble;
  client_options patient;
  patient.session_timeout = std::chrono::minutes{1};  // on a starved machine a lease would end, and a place with it
  client owner{ensemble, patient};
  Lock lock{owner, "/m"};
  pool threads;
  std::vector<int> order;
  std::vector<std::future<bool>> all;
  auto held = lock.acquire();
  for (int i = 0; i < many; ++i) {
    auto told = std::make_shared<std::promise<bool>>();
    all.push_back(told->get_future());
    [](Lock& what, pool& where, std::vector<int>& list, int number,
       std::shared_ptr<std::promise<bool>> tell) -> detached {
      auto mine = co_await co_acquire(what, where.where());
      list.push_back(number);
      const bool had = static_cast<bool>(mine);
      mine.release();
      tell->set_value(had);
    }(lock, threads, order, i, told);
  }
  held.release();
  bool each = true;
  for (auto& one : all) each = one.get() && each;
  CHECK(each);
  REQUIRE(std::ssize(order) == many);
  CHECK(std::is_sorted(order.begin(), order.end()));
  CHECK(queued(ensemble, "/m", 0));
}

TEST_CASE("thousands of coroutines have a lock on two threads, in order, and none is left") {
  take_turns<mutex>(10'000);
  take_turns<fair_mutex>(10'000);
}

TEST_CASE("a grant, a stop request, the end of the coroutine and the end of the client may come at once") {
  simulated_ensemble ensemble;
  client first{ensemble};
  for (int round = 0; round < 300; ++round) {
    CAPTURE(round);
    auto second = std::make_unique<client>(ensemble);
    mutex theirs{first, "/l/x"};
    fair_mutex fair{*second, "/l/x"};
    mutex turns{*second, "/l/x"};
    auto held = theirs.acquire();
    pool one{1};
    std::stop_source stop;
    std::optional<job<guard>> waits;
    const auto on_pool = [&](auto what) {
      std::promise<void> done;
      one.post([&] {
        what();
        done.set_value();
      });
      done.get_future().get();
    };
    on_pool([&] {
      if (round % 2 == 0) {
        waits.emplace(awaits([&] { return co_acquire(fair, one.where(), stop.get_token()); }));
      } else {
        waits.emplace(awaits([&] { return co_acquire(turns, one.where(), stop.get_token()); }));
      }
    });
    std::vector<std::function<void()>> events{[&] { held.release(); }, [&] { stop.request_stop(); },
                                              [&] { on_pool([&] { waits->destroy(); }); }, [&] { second->close(); }};
    std::vector<std::thread> all;
    for (std::size_t i = 0; i < events.size(); ++i) {
      if ((round >> 1 & 1 << i) != 0) all.emplace_back(events[i]);
    }
    for (auto& each : all) each.join();
    on_pool([&] { waits.reset(); });
    held.release();
    CHECK(queued(ensemble, "/l/x", 0));
  }
}

static_assert(!detail::asynchronous_lock<reentrant_mutex>, "its owner is the caller");
static_assert(!detail::asynchronous_lock<keyed_mutex>, "a key is missing");

}  // namespace latchkey::testing
