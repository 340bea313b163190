// SPDX-License-Identifier: Apache-2.0
/// What the ensemble refuses: how often it is asked, and what the caller is told.

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "log_lines.hpp"
#include "queue/inquiry.hpp"
#include "recipes/election/leader_watch.hpp"
#include "recipes/keyed/contract.hpp"
#include "support/group_world.hpp"
#include "support/permit_world.hpp"

namespace latchkey::testing {
namespace {

using namespace std::chrono_literals;
using detail::reply_code;

constexpr std::uint64_t few = 3 * detail::repetition::most_attempts;

struct refusing_world : calm_world {
  explicit refusing_world() { one.connector().forget_sent(); }

  /// Locks, and @returns the failure.
  detail::failure failure_at(const std::string& path, lock_family family = lock_family::turns) {
    simulated_lock lock{one, path, {family}};
    const auto call = lock.enter(1, mode);
    REQUIRE(ends(call, outcome::failed));
    return *call->why;
  }
  /// Deletes `path` as soon as it is there, for ever: no request comes in between.
  void keep_deleting(const std::string& path) {
    ensemble.trace_to([this, path](const std::string&) {
      if (ensemble.exists(path)) ensemble.remove(path);
    });
  }
  /// Writes to `path` as `resize()` does. @returns what that fails with, if it does.
  std::string write(const std::string& path) {
    const auto asked = std::make_shared<detail::inquiry>(
        *one.core(), path,
        std::vector<detail::request>{
            {.kind = operation::set, .path = path, .data = detail::permits_agreement.record(3)}},
        detail::if_missing::create);
    one.run([&] { asked->start(time.now() + 1min); });
    REQUIRE(eventually([&] { return asked->over(); }));
    try {
      asked->wait();
      return {};
    } catch (const error& failed) {
      return failed.what();
    }
  }
};

bool says(const std::string& text, const std::string& words) { return text.find(words) != std::string::npos; }

}  // namespace

TEST_SUITE("refused requests") {
  TEST_CASE("a path that cannot be created is not asked for again and again, and the reason is the ensemble's") {
    for (const auto family : {lock_family::turns, lock_family::fair, lock_family::permits}) {
      CAPTURE(to_string(family));
      refusing_world w;
      w.ensemble.create("/a", {}, w.ensemble.foreign_session(1h));
      const auto below = w.failure_at("/a/b/q", family);
      CHECK(below.code == errc::parent_is_ephemeral);
      CHECK(says(below.what, "ZNOCHILDRENFOREPHEMERALS -108"));
      CHECK(w.one.connector().sent() < few);
    }
  }

  TEST_CASE("a quota that is reached is named, also when a parent is missing") {
    refusing_world w;
    w.ensemble.create("/full");
    w.ensemble.limit_nodes("/full", 1);
    const auto parent = w.failure_at("/full/q");
    CHECK(parent.code == errc::refused);
    CHECK(says(parent.what, "/full/q is missing"));
    CHECK(says(parent.what, "ZQUOTAEXCEEDED -125"));
    w.ensemble.create("/full/there");
    const auto entry = w.failure_at("/full/there");
    CHECK(entry.code == errc::refused);
    CHECK(says(entry.what, "quota"));
    CHECK(says(entry.what, "ZQUOTAEXCEEDED -125"));
    CHECK(w.one.connector().sent() < few);
    w.ensemble.allow_everything();
    simulated_lock lock{w.one, "/full/q", {lock_family::turns}};
    CHECK(w.ends(lock.enter(1, mode), outcome::granted));
    lock.leave(1, mode);
  }

  TEST_CASE("a code without a name is told by its number, whichever request it answers") {
    for (const auto kind : {operation::create, operation::children}) {
      refusing_world w;
      w.ensemble.create("/q");
      w.ensemble.forbid(kind, "/q", reply_code{-126});
      const auto why = w.failure_at("/q");
      CHECK(why.code == errc::refused);
      CHECK(says(why.what, "error -126"));
    }
    refusing_world w;
    w.ensemble.create("/a");
    w.ensemble.forbid(operation::create, "/a", reply_code{-119});
    CHECK(says(w.failure_at("/a/q").what, "/a/q is missing: the ensemble refused a request (ZNOTREADONLY -119)"));
  }

  TEST_CASE("a path that another client deletes each time is a failure after ten attempts, with pauses") {
    refusing_world w;
    w.ensemble.create("/a");
    w.keep_deleting("/a/q");
    const auto begin = w.time.now();
    const auto why = w.failure_at("/a/q");
    CHECK(why.code == errc::refused);
    CHECK(says(why.what, "after each of 10 attempts"));
    CHECK(says(why.what, "ZNONODE -101"));
    CHECK(w.time.now() - begin > 2s);
    CHECK(w.one.connector().sent() < 8 * detail::repetition::most_attempts);
  }

  TEST_CASE("a client that is closed while an entry waits to be created again is freed") {
    for (const auto family : {lock_family::turns, lock_family::group}) {
      CAPTURE(to_string(family));
      simulation time{1};
      fake_ensemble ensemble{time};
      std::weak_ptr<detail::client_core> core;
      {
        simulated_client client{ensemble};
        REQUIRE(client.connect());
        core = client.core();
        lock_settings settings{.family = family};
        if (family == lock_family::group) settings.members = {{"/gone", mode}, {"/gone/too", mode}};
        simulated_lock lock{client, "/gone", settings};
        ensemble.trace_to([&](const std::string&) {
          for (const auto* path : {"/gone/too", "/gone"}) {
            if (ensemble.exists(path)) ensemble.remove(path);
          }
        });
        client.connector().forget_sent();
        const auto call = lock.enter(1, mode);
        REQUIRE(time.run_until([&] { return client.connector().sent() > few / 2; }, time.now() + 1min));
        time.run_for(100ms);  // the next pause is longer
        REQUIRE(call->what == outcome::waiting);
        client.close();
        CHECK(time.run_until([&] { return client.closed(); }, time.now() + 1min));
        CHECK(call->what == outcome::failed);
        lock.shut();
      }
      CHECK(core.expired());
    }
  }

  TEST_CASE("a path that is deleted and may be created again soon is waited for") {
    for (const bool group : {false, true}) {
      CAPTURE(group);
      refusing_world w;
      w.ensemble.create("/a");
      for (int i = 0; i < 400; ++i) {
        w.time.after(i * 250us, [&w] {
          for (const auto* const path : {"/a/q", "/a/p"}) w.ensemble.remove(path);
        });
      }
      if (group) {
        simulated_group both{w.one, {{"/a/q"}, {"/a/p"}}, group_goal::all};
        CHECK(w.ends(both.enter(), outcome::granted));
        both.leave();
      } else {
        simulated_lock lock{w.one, "/a/q", {lock_family::turns}};
        CHECK(w.ends(lock.enter(1, mode), outcome::granted));
        lock.leave(1, mode);
      }
    }
  }

  TEST_CASE("a write to a path that cannot be created ends soon, and with the reason of the ensemble") {
    refusing_world w;
    CHECK(w.write("/s") == "");
    CHECK(w.ensemble.data("/s") == detail::permits_agreement.record(3));
    CHECK(w.write("/s") == "");
    CHECK(w.write("/new/s") == "");
    w.ensemble.create("/e", {}, w.ensemble.foreign_session(1h));
    w.one.connector().forget_sent();
    CHECK(says(w.write("/e/s"), "ZNOCHILDRENFOREPHEMERALS -108"));
    CHECK(w.one.connector().sent() < few);
    w.ensemble.create("/a");
    w.keep_deleting("/a/s");
    w.one.connector().forget_sent();
    CHECK(says(w.write("/a/s"), "after each of 10 attempts"));
    CHECK(w.one.connector().sent() < 5 * detail::repetition::most_attempts);
  }

  TEST_CASE("a number of permits that may not be written is a failure, and nothing is sent while no call waits") {
    for (const auto code : {reply_code::quota_exceeded, reply_code::no_permission, reply_code{-126}}) {
      CAPTURE(static_cast<int>(code));
      permit_world w{2};
      w.ensemble.create_container("/s");
      w.ensemble.forbid(operation::set, "/s", code);
      const auto call = w.ours.enter();
      REQUIRE(w.ends(call, outcome::failed));
      CHECK(call.failed_with(code == reply_code::no_permission ? errc::not_authorized : errc::refused));
      CHECK(says(call.waiter->why->what, fmt::format("{}", static_cast<int>(code))));
      w.settle();
      w.one.connector().forget_sent();
      w.settle();
      CHECK(w.one.connector().sent(operation::get) == 0);
      CHECK(w.one.connector().sent(operation::transact) == 0);
      w.ensemble.allow_everything();
      const auto held = w.take(w.ours);
      CHECK(w.record() == detail::permits_agreement.record(2));
      w.ours.leave(held);
      CHECK(w.is_clean());
    }
  }

  TEST_CASE("a number of permits that may not be read is a failure, whatever the reason") {
    permit_world w{2};
    w.ensemble.create_container("/s");
    w.ensemble.forbid(operation::get, "/s", reply_code{-126});
    const auto call = w.ours.enter();
    REQUIRE(w.ends(call, outcome::failed));
    CHECK(call.failed_with(errc::refused));
    CHECK(w.is_clean());
  }

  TEST_CASE("a number of permits that another client empties each time is a failure") {
    permit_world w{2};
    const auto held = w.take(w.theirs, 2);
    const auto call = w.ours.enter();
    w.settle();
    const std::function<void()> empty = [&] {
      if (!w.record().empty()) w.ensemble.change("/s", "");
      w.time.after(50us, empty);
    };
    empty();
    REQUIRE(w.ends(call, outcome::failed));
    CHECK(says(call.waiter->why->what, "after each of 10 attempts"));
    w.theirs.leave(held);
    CHECK(w.is_clean());
  }

  TEST_CASE("an agreed number below a parent that cannot be created is refused with the reason of that") {
    refusing_world w;
    w.ensemble.create("/full");
    w.ensemble.limit_nodes("/full", 1);
    const auto about = std::make_shared<detail::contract>(w.one.core(), "/full/a/root", detail::stripes_agreement, 64);
    std::string why;
    about->open([&](const detail::failure& refused) { why = refused.what; });
    w.one.run([&] { about->ask(); });
    REQUIRE(w.eventually([&] { return !why.empty(); }));
    CHECK(says(why, "ZQUOTAEXCEEDED -125"));
    CHECK(w.one.connector().sent() < few);
    about->shut();
  }

  TEST_CASE("servers that throttle are asked less and less often, and a call has the lock when they do not any more") {
    const log_lines lines{log_level::warning};
    refusing_world w;
    w.ensemble.create_container("/q");
    w.ensemble.forbid(operation::create, "/q", reply_code::not_sent);
    simulated_lock lock{w.one, "/q", {lock_family::turns}};
    const auto call = lock.enter(1, mode);
    w.time.run_for(10ms);
    w.one.connector().forget_sent();
    w.time.run_for(8s);
    CHECK(w.one.connector().sent() < 100);
    CHECK(lines.with("the servers throttle requests").size() == 1);
    CHECK(w.one.core()->session().connected());
    w.ensemble.allow_everything();
    REQUIRE(w.ends(call, outcome::granted));
    lock.leave(1, mode);
  }

  TEST_CASE("a missing root of keys that may not be created is said to be missing") {
    refusing_world w;
    w.ensemble.create("/a");
    w.ensemble.forbid(operation::create, "/a");
    const auto about = std::make_shared<detail::contract>(w.one.core(), "/a/root", detail::stripes_agreement, 64);
    std::string why;
    about->open([&](const detail::failure& refused) { why = refused.what; });
    w.one.run([&] { about->ask(); });
    REQUIRE(w.eventually([&] { return !why.empty(); }));
    CHECK(says(why, "/a/root is missing, and the ACL above denies creating it"));
    about->shut();
  }

  TEST_CASE("a refusal names the folder of a semaphore that it is about, not its path") {
    for (const std::string folder : {"/s/leases", "/s/locks"}) {
      CAPTURE(folder);
      permit_world w{1};
      const auto held = w.take(w.theirs);
      if (folder == "/s/leases") w.theirs.leave(held);
      w.settle();
      w.ensemble.forbid(operation::create, folder);
      const auto call = w.ours.enter();
      REQUIRE(w.ends(call, outcome::failed));
      CHECK(says(call.waiter->why->what, folder + ": its ACL denies access"));
      w.ensemble.allow_everything();
    }
  }

  TEST_CASE("a view of a path that is deleted each time asks less and less often") {
    refusing_world w;
    w.ensemble.create("/a");
    w.keep_deleting("/a/q");
    const auto watch = std::make_shared<detail::leader_watch>(w.one.core(), "/a/q", [](const leader_sighting&) {});
    watch->open();
    w.time.run_for(1min);
    CHECK(w.one.connector().sent(operation::children) < 500);  // rounds of 10, with a pause of T in between
    watch->shut();
  }
}

}  // namespace latchkey::testing
