// SPDX-License-Identifier: Apache-2.0
#include <latchkey/testing/simulated_ensemble.hpp>

#include <latchkey/fair_mutex.hpp>
#include <latchkey/mutex.hpp>
#include <latchkey/queue_snapshot.hpp>
#include <latchkey/shared_mutex.hpp>

#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <memory>
#include <optional>
#include <stdexcept>
#include <system_error>
#include <vector>

#include <doctest/doctest.h>

#include "callers.hpp"
#include "error_of.hpp"

namespace latchkey::testing {

TEST_CASE("a client connects, and its lock is held") {
  simulated_ensemble ensemble;
  client owner{ensemble, {.session_timeout = 8s, .label = "billing"}};
  CHECK(owner.wait_for_connection(30s));
  CHECK(owner.session_timeout() == 8s);
  mutex lock{owner, "/locks/nightly"};
  auto held = lock.acquire();
  CHECK(held);
  const queue_snapshot queue{owner, "/locks/nightly"};
  REQUIRE(queue.holders().size() == 1);
  CHECK(queue.holders().front().label == "billing");
  CHECK(abs(queue.holders().front().since - std::chrono::system_clock::now()) < 1min);
  held.release();
  CHECK(queued(ensemble, "/locks/nightly", 0));
  for (const auto* wrong : {"locks/nightly", "/locks/nightly/", ""}) {
    CHECK(error_of([&] { (void)ensemble.children(wrong); }) == errc::bad_path);
    CHECK(error_of([&] { (void)ensemble.delete_node(wrong); }) == errc::bad_path);
  }
}

TEST_CASE("a client that has just been made is one of its ensemble") {
  simulated_ensemble ensemble;
  const auto make = [&] {
    for (int i = 0; i < 300; ++i) {
      client owner{ensemble};
      ensemble.abandon(owner);
    }
    return true;
  };
  auto others = on_threads::start(make);  // so that the thread of the ensemble finds verbs and messages at any time
  CHECK(make());
  CHECK(others.get());
}

TEST_CASE("starting an ensemble and connecting a client takes milliseconds") {
  const auto begin = std::chrono::steady_clock::now();
  simulated_ensemble ensemble;
  client owner{ensemble};
  mutex lock{owner, "/locks/nightly"};
  const auto held = lock.acquire();
  const std::chrono::duration<double, std::milli> taken = std::chrono::steady_clock::now() - begin;
  MESSAGE("an ensemble, a client and a lock in " << taken.count() << " ms");
  CHECK(held);
  CHECK(taken < 10s);  // a session timeout: nothing has waited for one
}

TEST_CASE_TEMPLATE("a lock passes from one client to the other when it is released", callers, LATCHKEY_CALLERS) {
  simulated_ensemble ensemble;
  client one{ensemble};
  client two{ensemble};
  mutex of_one{one, "/locks/nightly"};
  mutex of_two{two, "/locks/nightly"};
  auto held = of_one.acquire();
  const auto first = held.fence();
  auto next = callers::start([&] { return of_two.acquire(); });
  REQUIRE(queued(ensemble, "/locks/nightly", 2));
  CHECK_FALSE(of_two.held());
  held.release();
  const auto second = next.get();
  CHECK(first < second.fence());
}

TEST_CASE_TEMPLATE("callers of many clients never hold a lock together", callers, LATCHKEY_CALLERS) {
  simulated_ensemble ensemble;
  std::vector<std::unique_ptr<client>> clients;
  std::atomic<int> holders{0};
  std::vector<decltype(callers::start([] { return true; }))> all;
  for (int i = 0; i < 4; ++i) {
    clients.push_back(std::make_unique<client>(ensemble));
    all.push_back(callers::start([&, own = clients.back().get()] {
      fair_mutex lock{*own, "/locks/nightly"};
      bool alone = true;
      for (int turn = 0; turn < 20; ++turn) {
        const auto held = lock.acquire();
        alone = ++holders == 1 && alone;
        ensemble.children("/locks/nightly");  // lets the others try
        --holders;
      }
      return alone;
    }));
  }
  for (auto& each : all) CHECK(each.get());
}

TEST_CASE("an expired session loses its lock before expire_session returns") {
  simulated_ensemble ensemble;
  std::atomic<int> told{0};
  client owner{ensemble, {.observer = [&](const client_event& event) {
                 if (event.what == client_event::kind::lost) ++told;
               }}};
  mutex lock{owner, "/locks/nightly"};
  const auto held = lock.acquire();
  const auto session = owner.session_id();
  bool called_back = false;
  const std::stop_callback stopped{held.stop_token(), [&] { called_back = true; }};
  ensemble.expire_session(owner);
  CHECK_FALSE(held);
  CHECK(held.grant().loss() == loss_reason::session_expired);
  CHECK(held.stop_token().stop_requested());
  CHECK(called_back);
  CHECK(told == 1);
  CHECK(owner.connected());
  CHECK(owner.session_id() != session);
  CHECK(ensemble.children("/locks/nightly").empty());
}

TEST_CASE_TEMPLATE("a holder that is cut off is told of its loss before the next contender is granted", callers,
                   LATCHKEY_CALLERS) {
  simulated_ensemble ensemble;
  client one{ensemble};
  client two{ensemble};
  mutex of_one{one, "/locks/nightly"};
  mutex of_two{two, "/locks/nightly"};
  const auto lost = of_one.acquire();
  auto next = callers::start([&] {
    const auto held = of_two.acquire();
    return !lost && lost.stop_token().stop_requested();
  });
  REQUIRE(queued(ensemble, "/locks/nightly", 2));
  ensemble.cut(one);
  ensemble.advance(one.session_timeout());
  ensemble.heal(one);
  CHECK(next.get());
}

TEST_CASE("deleting the node of a holder ends its grant, and deleting the path that of a waiter's predecessor") {
  simulated_ensemble ensemble;
  client owner{ensemble};
  mutex lock{owner, "/locks/nightly"};
  const auto held = lock.acquire();
  ensemble.advance(20ms);  // an entry that is 10 ms old watches its own node
  SUBCASE("its node") {
    const auto names = ensemble.children("/locks/nightly");
    REQUIRE(names.size() == 1);
    CHECK(ensemble.delete_node("/locks/nightly/" + names.front()));
  }
  SUBCASE("the path") { CHECK(ensemble.delete_node("/locks")); }
  CHECK_FALSE(held);
  CHECK(held.grant().loss() == loss_reason::node_deleted);
  CHECK_FALSE(ensemble.delete_node("/locks/nightly/none"));
}

TEST_CASE_TEMPLATE("readers share, and a writer waits for them", callers, LATCHKEY_CALLERS) {
  simulated_ensemble ensemble;
  client one{ensemble};
  client two{ensemble};
  shared_mutex of_one{one, "/locks/config"};
  shared_mutex of_two{two, "/locks/config"};
  auto first = of_one.acquire_shared();
  auto second = of_two.acquire_shared();
  CHECK(first);
  CHECK(second);
  first.release();
  auto writer = callers::start([&] { return of_one.acquire(); });
  REQUIRE(queued(ensemble, "/locks/config", 2));
  second.release();
  CHECK(writer.get());
}

TEST_CASE("a client of another ensemble is refused") {
  simulated_ensemble ensemble;
  simulated_ensemble other;
  client owner{other};
  CHECK_THROWS_AS(ensemble.expire_session(owner), std::invalid_argument);
  CHECK_THROWS_AS(ensemble.cut(owner), std::invalid_argument);
  CHECK_THROWS_AS(ensemble.heal(owner), std::invalid_argument);
}

TEST_CASE("a client may outlive the ensemble, and a lock both") {
  std::optional<simulated_ensemble> ensemble{std::in_place};
  std::optional<client> owner{std::in_place, *ensemble};
  mutex lock{*owner, "/locks/nightly"};
  {
    const auto held = lock.acquire();
    ensemble.reset();
    CHECK(held);
  }
  CHECK(lock.acquire());
  owner.reset();
  CHECK_THROWS_AS((void)lock.acquire(), error);
}

TEST_CASE("a verb that is called from a callback throws") {
  simulated_ensemble ensemble;
  client owner{ensemble};
  mutex lock{owner, "/locks/nightly"};
  const auto held = lock.acquire();
  std::error_code refused;
  const std::stop_callback stopped{held.stop_token(), [&] {
                                     try {
                                       ensemble.advance(1s);
                                     } catch (const std::system_error& failure) {
                                       refused = failure.code();
                                     }
                                   }};
  ensemble.expire_session(owner);
  CHECK(refused == std::errc::resource_deadlock_would_occur);
}

TEST_CASE("each lock of a session that ends is lost for that reason, also while others are being told") {
  simulated_ensemble ensemble;
  client owner{ensemble};
  mutex one{owner, "/locks/one"};
  mutex two{owner, "/locks/two"};
  one.lock();
  two.lock();
  const std::array held{one.held(), two.held()};
  std::vector<std::optional<loss_reason>> seen;
  const auto look = [&] {
    for (const auto& each : held) seen.push_back(each.loss());
  };
  const std::stop_callback when_one{held.front().stop_token(), look};
  const std::stop_callback when_two{held.back().stop_token(), look};
  ensemble.expire_session(owner);
  CHECK(seen == std::vector<std::optional<loss_reason>>(4, loss_reason::session_expired));
  one.unlock();
  two.unlock();
}

TEST_CASE("options that a real ensemble would not get are refused") {
  simulated_ensemble ensemble;
  CHECK_THROWS_AS((client{ensemble, {.session_timeout = 1ms}}), error);
}

TEST_CASE("a client that is cut off closes when its close_timeout is over") {
  simulated_ensemble ensemble;
  auto owner = std::make_unique<client>(ensemble, client_options{.close_timeout = 0ms});
  mutex lock{*owner, "/locks/nightly"};
  const auto held = lock.acquire();
  ensemble.cut(*owner);
  const auto begin = std::chrono::steady_clock::now();
  owner.reset();
  CHECK(std::chrono::steady_clock::now() - begin < 2s);  // of the 3 s that the C client would wait for an answer
  ensemble.advance(1min);
  CHECK(ensemble.children("/locks/nightly").empty());
}

TEST_CASE("time does not go on for ever") {
  simulated_ensemble ensemble;
  CHECK_THROWS_AS(ensemble.advance(std::chrono::hours::max()), std::invalid_argument);
}

#ifndef __SANITIZE_ADDRESS__  // whose allocator would hang in the child: see forking_process.cpp

TEST_CASE("in a forked child a verb throws, and so does a new client") {
  simulated_ensemble ensemble;
  client owner{ensemble};
  const auto is_refused = [](auto what) {
    try {
      what();
    } catch (const error& thrown) {
      return thrown.code() == errc::closed;
    }
    return false;
  };
  const auto child = ::fork();
  if (child == 0) {
    ::alarm(60);
    const bool well = is_refused([&] { ensemble.advance(1s); }) && is_refused([&] { client of_child{ensemble}; });
    ::_exit(well ? 0 : 1);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  CHECK(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == 0);
}

#endif

}  // namespace latchkey::testing
