// SPDX-License-Identifier: Apache-2.0
/// Keys that are used once leave no memory behind.

#include <doctest/doctest.h>

#include <malloc.h>

#include <array>
#include <chrono>
#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/path.hpp"
#include "recipes/keyed/key_table.hpp"
#include "support/scripted_connector.hpp"

namespace latchkey::testing {
namespace {

using namespace std::chrono_literals;
using detail::key_space;
using detail::key_table;
using detail::operation;
using outcome = detail::waiter::outcome;

/// The keys of one process, on an ensemble that remembers nothing: every lock is free, unless `busy`.
struct forgetful_world {
  scripted_client client{{.session_timeout = 4s}};
  std::shared_ptr<key_table> keys;
  std::vector<std::string> nodes;  // that the present call has created
  std::int64_t zxid = 0;
  bool busy = false;

  explicit forgetful_world(detail::cohort_options options)
      : keys{std::make_shared<key_table>(client.core, key_space{"/keys", 0}, std::move(options))} {
    client.opener->opens();
    client.opener->connects({.id = 1, .timeout = 4s});
    keys->open();
  }
  ~forgetful_world() { keys->shut(); }

  void answer_everything() {
    while (!client.opener->sent.empty()) {
      for (auto& each : std::exchange(client.opener->sent, {})) {
        tell_of_deletions(each.what);
        client.opener->answers(each.id, answer(each.what));
      }
    }
  }
  /// As a server does, to who watches the nodes, or their parents.
  void tell_of_deletions(const detail::request& what) {
    const auto tell = [this](const std::string& path) {
      client.opener->tells(detail::watch_event::deleted, path);
      client.opener->tells(detail::watch_event::children_changed, detail::parent_of(path));
    };
    if (what.kind == operation::remove) tell(what.path);
    for (const auto& each : what.steps) {
      if (each.what == detail::step::operation::remove) tell(each.path);
    }
  }
  detail::reply answer(const detail::request& what) {
    detail::reply with;
    with.stat.pzxid = ++zxid;
    if (what.kind == operation::create) {
      with.path = create(what.path);
      with.stat.czxid = zxid;
    }
    for (const auto& each : what.steps) {
      with.results.push_back(detail::reply_code::ok);
      if (each.what == detail::step::operation::create) with.paths.push_back(create(each.path));
    }
    if (what.kind == operation::children) {
      for (const auto& each : nodes) {
        if (detail::parent_of(each) == what.path) with.children.emplace_back(detail::last_component(each));
      }
    }
    if (what.kind == operation::children && busy) with.children.push_back("_c_other-lock-0000000001");
    if (what.kind == operation::get) with.data = R"({"stripes":0})";
    return with;
  }
  const std::string& create(const std::string& prefix) { return nodes.emplace_back(prefix + "0000000007"); }
  void advance(detail::duration time) {
    client.advance(time);
    answer_everything();
  }
  /// So that the lease is ready.
  void settle() {
    for (int i = 0; i < 100; ++i) advance(100ms);
  }

  void use(int key) {
    const auto until = busy ? detail::at_once : detail::never;
    const auto call = client.own->run([&] { return keys->enter(fmt::format("key-{}", key), 1, until); });
    answer_everything();
    if (call.me->what != (busy ? outcome::refused : outcome::granted)) FAIL("key " << key);
    if (!busy) client.own->run([&] { call.lock->leave(); });
    end_use(key);
  }
  void use_two(int key) {
    const std::array names{fmt::format("key-{}", key), fmt::format("other-{}", key)};
    const std::array<std::string_view, 2> two{names[0], names[1]};
    const auto both = keys->group_of(two, detail::group_goal::all).lock;
    const auto call = client.own->run([&] { return both->enter(1, detail::never); });
    answer_everything();
    if (call->what != outcome::granted) FAIL("keys " << key);
    client.own->run([&] { both->leave(); });
    end_use(key);
  }
  void end_use(int key) {
    answer_everything();
    nodes.clear();
    if (key % 64 == 0) advance(1ms);
  }
};

/// @returns the bytes in use, once what is dropped late has been.
[[maybe_unused]] std::size_t memory(forgetful_world& w) {
  w.advance(1ms);
  w.use(0);
  const auto now = ::mallinfo2();
  return now.uordblks + now.hblkhd;
}

}  // namespace

#ifndef __SANITIZE_ADDRESS__  // whose allocator does not tell

TEST_SUITE("allocations") {
  TEST_CASE("keys that are used once leave memory flat") {
    const int count = std::getenv("LATCHKEY_LONG") != nullptr ? 1'000'000 : 100'000;
    constexpr std::size_t noise = 64 * 1024;  // the smallest allocation for one key of fifty, in the long form of 500
    forgetful_world w{{.max_hold = 1h}};
    w.settle();
    for (int key = 0; key < 10'000; ++key) w.use(key);
    const auto before = memory(w);
    for (int key = 0; key < count; ++key) w.use(key);
    CHECK(w.keys->size() == 0);
    CHECK(memory(w) < before + noise);
  }

  TEST_CASE("keys that were taken together leave no memory either") {
    constexpr int count = 20'000;
    constexpr std::size_t noise = 64 * 1024;
    forgetful_world w{{.max_hold = 1h}};
    w.settle();
    for (int key = 0; key < count / 10; ++key) w.use_two(key);
    const auto before = memory(w);
    for (int key = 0; key < count; ++key) w.use_two(key);
    CHECK(memory(w) < before + noise);
  }

  TEST_CASE("keys that are held by others, and keys that have lingered, leave no memory either") {
    for (const bool busy : {true, false}) {
      CAPTURE(busy);
      constexpr int count = 100'000;
      constexpr std::size_t noise = 64 * 1024;
      forgetful_world w{{.linger = 1ms}};
      w.busy = busy;
      w.settle();
      for (int key = 0; key < count / 4; ++key) w.use(key);
      w.advance(1s);
      const auto before = memory(w);
      for (int key = 0; key < count; ++key) w.use(key);
      w.advance(1s);
      CHECK(w.keys->size() == 0);
      CHECK(memory(w) < before + noise);
    }
  }
}

#endif

}  // namespace latchkey::testing
