// SPDX-License-Identifier: Apache-2.0
#include <latchkey/keyed_mutex.hpp>

#include <array>
#include <atomic>
#include <exception>
#include <optional>
#include <set>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include <latchkey/mutex.hpp>
#include <latchkey/queue_snapshot.hpp>
#include <latchkey/testing/simulated_ensemble.hpp>

#include "callers.hpp"

namespace latchkey::testing {
namespace {

using namespace std::string_view_literals;

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

/// @returns whether no one else has the lock there.
bool is_free(client& through, const std::string& at) {
  mutex probe{through, at};
  const auto held = probe.try_acquire();
  return static_cast<bool>(held);
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
  CHECK(is_free(two, here.path("b")));
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
    CHECK(is_free(one, "/keys/0"));
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
  CHECK_FALSE(is_free(two, "/keys/z"));
  CHECK(is_free(one, "/keys/z"));
  two.close();
  CHECK_FALSE(z);
  CHECK(a);
  CHECK(failure_of([&] { (void)keys.lock("y"); }) == errc::closed);
  CHECK(keys.lock("b"));
}

TEST_CASE_TEMPLATE("keys taken together in opposite orders, beside single keys, cannot deadlock", callers,
                   LATCHKEY_CALLERS) {
  simulated_ensemble ensemble;
  client one{ensemble};
  client two{ensemble};
  keyed_mutex here{one, root};
  keyed_mutex there{two, root};
  const std::array forwards{"a"sv, "b"sv, "c"sv};
  const std::array backwards{"c"sv, "b"sv, "a"sv, "c"sv};
  std::atomic<int> inside{0};
  std::atomic<int> overlaps{0};
  std::vector<decltype(callers::start([] {}))> done;
  for (int i = 0; i < 6; ++i) {
    done.push_back(callers::start([&, i] {
      auto& keys = i % 2 == 0 ? here : there;
      for (int round = 0; round < 10; ++round) {
        const auto held = i < 2   ? keys.lock_all(forwards)
                          : i < 4 ? keys.lock_all(backwards, std::stop_token{})
                                  : keys.lock("b");
        if (!held || inside.fetch_add(1) != 0) ++overlaps;
        inside.fetch_sub(1);
      }
    }));
  }
  for (auto& each : done) each.get();
  CHECK(overlaps == 0);
  for (const auto* const key : {"/keys/a", "/keys/b", "/keys/c"}) CHECK(queued(ensemble, key, 0));
}

TEST_CASE("keys may be listed in the call, and be any range of strings") {
  simulated_ensemble ensemble;
  client owner{ensemble};
  keyed_mutex keys{owner, root};
  const std::vector<std::string> strings{"a", "b"};
  const std::set<std::string> sorted{"a", "b"};
  const std::array<const char*, 2> literals{"a", "b"};
  const std::vector<std::string_view> views{"a", "b"};
  const std::string one = "a";
  CHECK(keys.lock_all({"a", "b"}));
  CHECK(keys.lock_all({"a"}));
  CHECK(keys.lock_all({one, "b"}, std::stop_token{}));
  CHECK(keys.lock_all(strings));
  CHECK(keys.lock_all(sorted));
  CHECK(keys.lock_all(literals, std::stop_token{}));
  CHECK(keys.lock_all(views));
  CHECK(keys.lock_all(std::span<const std::string_view>{views}));
  const auto held = keys.lock("a");
  CHECK(keys.try_lock_any({"a", "b"}).index == 1);
  CHECK(keys.try_lock_any(strings).index == 1);
  static_assert(!std::is_convertible_v<std::string, detail::key_list>);
  static_assert(!std::is_convertible_v<const char*, detail::key_list>);
  static_assert(!std::is_convertible_v<std::vector<int>, detail::key_list>);
}

TEST_CASE("keys of one stripe are taken together as one") {
  simulated_ensemble ensemble;
  client owner{ensemble};
  keyed_mutex keys{owner, root, {.stripes = 1}};
  const std::array some{"a"sv, "b"sv, "a"sv};
  const auto held = keys.lock_all(some);
  CHECK(held);
  CHECK(ensemble.children("/keys/0").size() == 1);
  CHECK_FALSE(keys.try_lock_any(some));
}

TEST_CASE("one of several keys is taken that is free, and none while all are held") {
  simulated_ensemble ensemble;
  client one{ensemble};
  client two{ensemble};
  keyed_mutex here{one, root};
  keyed_mutex there{two, root};
  const std::array some{"a"sv, "a"sv, "b"sv, "c"sv};
  const auto a = here.lock("a");
  auto c = here.lock("c");
  auto b = there.try_lock_any(some);
  REQUIRE(b);
  CHECK(b.index == 2);
  CHECK_FALSE(here.try_lock("b"));
  CHECK_FALSE(there.try_lock_any(some));
  c.release();
  REQUIRE(queued(ensemble, "/keys/c", 0));
  CHECK(there.try_lock_any(some).index == 3);
  b.guard.release();
  CHECK(queued(ensemble, "/keys/b", 0));
}

TEST_CASE("keys that are taken together go with their object, and fail with its root") {
  simulated_ensemble ensemble;
  client owner{ensemble};
  const std::array some{"a"sv, "b"sv};
  {
    keyed_mutex other{owner, root, {.stripes = 2}};
    CHECK(other.lock("a"));
    keyed_mutex keys{owner, root};
    CHECK(failure_of([&] { (void)keys.lock_all(some); }) == errc::contract_mismatch);
    CHECK(failure_of([&] { (void)keys.try_lock_any(some); }) == errc::contract_mismatch);
  }
  guard all;
  keyed_mutex::any_key any;
  {
    keyed_mutex keys{owner, "/more"};
    all = keys.lock_all(some);
    any = keys.try_lock_any(std::array{"c"sv});
    CHECK(all);
    CHECK(any);
  }
  CHECK_FALSE(all);
  CHECK_FALSE(any);
  for (const auto* const key : {"/keys/a", "/keys/b", "/more/a", "/more/b", "/more/c"}) CHECK(queued(ensemble, key, 0));
}

TEST_CASE("keys that cannot be taken together are refused") {
  simulated_ensemble ensemble;
  client one{ensemble};
  client two{ensemble};
  keyed_mutex keys{one, root, {.where = [&](std::string_view key) -> client& { return key < "m" ? one : two; }}};
  std::vector<std::string> names;
  for (int i = 0; i < 65; ++i) names.push_back("a" + std::to_string(i));
  const std::vector<std::string_view> many{names.begin(), names.end()};
  const std::vector<std::string_view> apart{"a", "z"};
  for (const auto& each : {many, apart, std::vector<std::string_view>{}}) {
    CHECK(failure_of([&] { (void)keys.lock_all(each); }) == errc::bad_option);
    CHECK(failure_of([&] { (void)keys.try_lock_any(each); }) == errc::bad_option);
  }
  CHECK(keys.lock_all(std::span{many}.first(64)));
  std::stop_source stopped;
  stopped.request_stop();
  CHECK_FALSE(keys.lock_all(std::span{many}.first(2), stopped.get_token()));
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
