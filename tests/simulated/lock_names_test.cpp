// SPDX-License-Identifier: Apache-2.0
// Paths and keys that another lock would take for the entry of a contender, and wait for.
#include <latchkey/any_lock.hpp>
#include <latchkey/election.hpp>
#include <latchkey/fair_mutex.hpp>
#include <latchkey/keyed_mutex.hpp>
#include <latchkey/leader_view.hpp>
#include <latchkey/multi_lock.hpp>
#include <latchkey/mutex.hpp>
#include <latchkey/queue_snapshot.hpp>
#include <latchkey/queue_view.hpp>
#include <latchkey/reentrant_mutex.hpp>
#include <latchkey/semaphore.hpp>
#include <latchkey/shared_mutex.hpp>

#include <string>

#include <doctest/doctest.h>

#include <latchkey/testing/simulated_ensemble.hpp>

#include "error_of.hpp"

namespace latchkey::testing {
namespace {

constexpr const char* names[] = {"lock-0000000000",        "_c_5f3c-lock-0000000001", "x__READ__0000000001",
                                 "__WRIT__2147483647",     "latch-0000000007",        "lease-0000000007",
                                 "5f3c__lock__0000000001", "__rlock__0000000001",     "lock--2147483648"};

constexpr const char* other_names[] = {"lock-1",     "lock-00000000001x", "lock",
                                       "0000000000", "lock-2147483648",   "lock-000000000"};

template <class Callable>
bool is_refused(Callable what) {
  try {
    what();
    return false;
  } catch (const error& failed) {
    CHECK(failed.code() == errc::bad_path);
    CHECK(std::string{failed.what()}.find("contender's entry") != std::string::npos);
    return true;
  }
}

}  // namespace

TEST_CASE("no lock is made at a path, or for a key, that is named as an entry is") {
  simulated_ensemble ensemble;
  client owner{ensemble};
  keyed_mutex keys{owner, "/keys"};
  keyed_mutex striped{owner, "/striped", {.stripes = 4}};
  for (const std::string name : names) {
    CAPTURE(name);
    const auto path = "/a/" + name;
    CHECK(is_refused([&] { mutex lock(owner, path); }));
    CHECK(is_refused([&] { fair_mutex lock(owner, path); }));
    CHECK(is_refused([&] { reentrant_mutex lock(owner, path); }));
    CHECK(is_refused([&] { shared_mutex lock(owner, path); }));
    CHECK(is_refused([&] { semaphore permits(owner, path, 2); }));
    CHECK(is_refused([&] { election lock(owner, path); }));
    CHECK(is_refused([&] { leader_view view(owner, path); }));
    CHECK(is_refused([&] { keyed_mutex lock(owner, path); }));
    CHECK(is_refused([&] { multi_lock lock(owner, {{.path = "/b"}, {.path = path}}); }));
    CHECK(is_refused([&] { any_lock lock(owner, {"/b", path}); }));
    CHECK(is_refused([&] { (void)keys.lock(name); }));
    CHECK(striped.lock(name));
    CHECK_FALSE(is_refused([&] { queue_snapshot look(owner, path); }));
  }
  // Which would make its parent.
  for (const auto* path : {"/a/lock-0000000000/b", "/a/_c_5f3c-lock-0000000001/b/c", "/a/__WRIT__2147483647/b"}) {
    CHECK(is_refused([&] { mutex lock(owner, path); }));
    CHECK(is_refused([&] { queue_view view(owner, path); }));
  }
  for (const auto* path : {"/deploy/release-1764230400/migrate", "/yard/block-0000000042/door", "/a/x-lock-1/b"}) {
    CHECK_FALSE(is_refused([&] { mutex lock(owner, path); }));
  }
  for (const std::string name : other_names) {
    CAPTURE(name);
    CHECK_FALSE(is_refused([&] { mutex lock(owner, "/a/" + name); }));
    CHECK(keys.lock(name));
  }
}

TEST_CASE("nor where a robust mutex keeps its record") {
  simulated_ensemble ensemble;
  client owner{ensemble};
  keyed_mutex keys{owner, "/keys"};
  keyed_mutex striped{owner, "/striped", {.stripes = 4}};
  const auto refused = [](auto what) { return error_of([&] { what(); }) == errc::bad_path; };
  CHECK(refused([&] { mutex lock(owner, "/a/robust-owner"); }));
  CHECK(refused([&] { election lock(owner, "/a/robust-owner/b"); }));
  CHECK(refused([&] { (void)keys.lock("robust-owner"); }));
  CHECK(striped.lock("robust-owner"));
  CHECK_FALSE(refused([&] { mutex lock(owner, "/a/robust-owners"); }));
  CHECK_FALSE(refused([&] { queue_snapshot look(owner, "/a/robust-owner"); }));
}

}  // namespace latchkey::testing
