// SPDX-License-Identifier: Apache-2.0
#include <latchkey/keyed_mutex.hpp>

#include <atomic>
#include <exception>
#include <optional>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include <latchkey/mutex.hpp>
#include <latchkey/queue_snapshot.hpp>
#include <latchkey/testing/simulated_ensemble.hpp>

#include "callers.hpp"

namespace latchkey::testing {
namespace {

constexpr auto root = "/keys";

/// @returns the failure of `what`; nothing if it succeeds.
template <class Callable>
std::optional<errc> failure_of(Callable what) {
  try {
    what();
    return std::nullopt;
  } catch (const error& failed) {
    return static_cast<errc>(failed.code().value());
  }
}

}  // namespace

TEST_CASE_TEMPLATE("callers of one key come one after another, in two processes", callers, LATCHKEY_CALLERS) {
  simulated_ensemble ensemble;
  client one{ensemble};
  client two{ensemble};
  keyed_mutex here{one, root};
  keyed_mutex there{two, root};
  std::atomic<int> inside{0};
  std::atomic<int> overlaps{0};
  std::vector<decltype(callers::start([] {}))> done;
  for (int i = 0; i < 8; ++i) {
    done.push_back(callers::start([&, i] {
      for (int round = 0; round < 10; ++round) {
        const auto held = (i % 2 == 0 ? here : there).lock("a key");
        if (!held || inside.fetch_add(1) != 0) ++overlaps;
        inside.fetch_sub(1);
      }
    }));
  }
  for (auto& each : done) each.get();
  CHECK(overlaps == 0);
  CHECK(here.objects() + there.objects() == 0);
}

TEST_CASE("a key that is held is refused to a try, a timeout and a stop, and other keys are free") {
  simulated_ensemble ensemble;
  client one{ensemble};
  client two{ensemble};
  keyed_mutex here{one, root};
  keyed_mutex there{two, root};
  const auto held = here.lock("a");
  CHECK(held.fence() > fencing_token{});
  std::stop_source stopped;
  stopped.request_stop();
  for (auto* const keys : {&here, &there}) {
    CHECK_FALSE(keys->try_lock("a"));
    if (keys == &there) CHECK_FALSE(keys->try_lock_for("a", 10ms));
    if (keys == &there) CHECK_FALSE(keys->try_lock_until("a", std::chrono::steady_clock::now() + 10ms));
    CHECK_FALSE(keys->lock("a", stopped.get_token()));
    CHECK(keys->try_lock("b"));
    CHECK(keys->try_lock_for("c", 10s));
    CHECK(keys->lock("d", std::stop_token{}));
  }
  CHECK(here.objects() == 1);
  CHECK(there.objects() == 0);
  CHECK(queue_snapshot{two, there.path("a"), 10s}.holders().size() == 1);
  CHECK(mutex{two, here.path("b")}.try_acquire());
}

TEST_CASE("a fiber that holds a key is refused to wait for it, or for another one of its stripe") {
  simulated_ensemble ensemble;
  client owner{ensemble};
  keyed_mutex exact{owner, "/exact"};
  keyed_mutex one{owner, "/one", {.stripes = 1}};
  const auto held = exact.lock("a");
  CHECK_THROWS_AS((void)exact.lock("a"), std::system_error);
  CHECK(exact.lock("b"));
  const auto all = one.lock("a");
  CHECK_THROWS_AS((void)one.lock("b"), std::system_error);
  CHECK_FALSE(one.try_lock("b"));
  CHECK(exact.objects() + one.objects() == 2);
}

TEST_CASE("a guard may be moved to another thread and outlive its key's object") {
  simulated_ensemble ensemble;
  client owner{ensemble};
  guard held;
  {
    keyed_mutex keys{owner, root};
    held = keys.lock("a");
    on_threads::start([moved = std::exchange(held, {})]() mutable { moved.release(); }).get();
    CHECK(keys.objects() == 0);
    held = keys.lock("a");
    CHECK(held);
  }
  CHECK_FALSE(held);
  CHECK(queued(ensemble, "/keys/a", 0));
  held.release();
}

TEST_CASE("a node that is deleted is a loss, and a lost key is free for others when its guard goes") {
  simulated_ensemble ensemble;
  client owner{ensemble};
  keyed_mutex keys{owner, root};
  auto held = keys.lock("a");
  auto lost = held.stop_token();
  const auto path = keys.path("a");
  REQUIRE(ensemble.delete_node(path + "/" + ensemble.children(path).at(0)));
  REQUIRE(held.grant().wait_for_end(30s));
  CHECK(held.grant().loss() == loss_reason::node_deleted);
  auto next = on_threads::start([&] { return keys.lock("a"); });
  held.release();
  CHECK(next.get());
  CHECK(keys.objects() == 0);
}

TEST_CASE("of processes with different numbers of stripes those of one number go on") {
  for (int round = 0; round < 20; ++round) {
    simulated_ensemble ensemble;
    client one{ensemble};
    client two{ensemble};
    // So that the locks are granted before the number is written.
    (void)mutex{one, "/keys/0"}.try_acquire();
    keyed_mutex here{one, root, {.stripes = 1}};
    keyed_mutex there{two, root};
    guard first, second;
    auto mine = on_threads::start([&] { return failure_of([&] { first = here.lock("0"); }); });
    auto other = on_threads::start([&] { return failure_of([&] { second = there.lock("x"); }); });
    const auto failed = mine.get();
    const auto failed_other = other.get();
    CHECK(failed.value_or(errc::contract_mismatch) == errc::contract_mismatch);
    CHECK(failed_other.value_or(errc::contract_mismatch) == errc::contract_mismatch);
    CHECK(failed.has_value() != failed_other.has_value());
    CHECK(static_cast<bool>(first) == !failed);
    CHECK(static_cast<bool>(second) == !failed_other);
    CHECK(here.objects() + there.objects() == 1);
  }
}

TEST_CASE("a function says which ensemble has a key") {
  simulated_ensemble first, second;
  client one{first};
  client two{second};
  keyed_mutex keys{one, root, {.where = [&](std::string_view key) -> client& { return key < "m" ? one : two; }}};
  const auto a = keys.lock("a");
  const auto z = keys.lock("z");
  CHECK(keys.objects() == 2);
  CHECK(first.children(root) == std::vector<std::string>{"a"});
  CHECK(second.children(root) == std::vector<std::string>{"z"});
  CHECK_FALSE(mutex{two, "/keys/z"}.try_acquire());
  CHECK(mutex{one, "/keys/z"}.try_acquire());
  two.close();
  CHECK_FALSE(z);
  CHECK(a);
  CHECK(failure_of([&] { (void)keys.lock("y"); }) == errc::closed);
  CHECK(keys.lock("b"));
}

TEST_CASE("a closed client and options that make no sense are refused") {
  simulated_ensemble ensemble;
  client owner{ensemble};
  CHECK_THROWS_AS((keyed_mutex{owner, "/"}), error);
  CHECK_THROWS_AS((keyed_mutex{owner, "keys"}), error);
  CHECK_THROWS_AS((keyed_mutex{owner, root, {.lock = {.turns = 0}}}), error);
  CHECK_THROWS_AS((keyed_mutex{owner, root, {.lock = {.linger = -1s}}}), error);
  keyed_mutex keys{owner, root};
  CHECK(keys.root() == root);
  CHECK(keys.path("a/b") == "/keys/a%2Fb");
  CHECK(failure_of([&] { (void)keys.lock(""); }) == errc::bad_path);
  CHECK(failure_of([&] { (void)keys.try_lock(std::string(201, 'x')); }) == errc::bad_path);
  CHECK(keys.lock(std::string(200, '/')));
  owner.close();
  CHECK(failure_of([&] { (void)keys.lock("a"); }) == errc::closed);
  CHECK(keys.objects() == 0);
}

}  // namespace latchkey::testing
