// SPDX-License-Identifier: Apache-2.0
/// Semaphores that latchkey shares with Curator's `InterProcessSemaphoreV2` and `InterProcessSemaphoreMutex`.

#include <latchkey/semaphore.hpp>

#include <string>

#include <doctest/doctest.h>

#include "checker.hpp"
#include "mixed.hpp"

namespace latchkey::testing {
namespace {

bool leases(const std::string& path, std::size_t count) { return queued(path + "/leases", count); }
bool turns(const std::string& path, std::size_t count) { return queued(path + "/locks", count); }

/// Whatever was between them: now all permits are free.
void check_all_can_be_had(const std::string& path) {
  client here{servers().connect_string(), quick(10s)};
  semaphore all{here, path, 2};
  auto both = all.try_acquire_for(patience(), 2);
  CHECK(both);
  CHECK(leases(path, 2));
  both.release();
  CHECK(leases(path, 0));
  CHECK(turns(path, 0));
}

}  // namespace

TEST_SUITE("semaphore") {
  TEST_CASE("a permit of latchkey is one less for Curator, and the other way round, in the order of the turns") {
    const auto path = fresh_path();
    client here{servers().connect_string(), quick(10s)};
    semaphore ours{here, path, 2};
    contender_there java{curator(), fresh_name("curator")};
    contender_there late{curator(), fresh_name("curator")};
    auto held = ours.acquire();
    java.take("semaphore2", path);
    CHECK_FALSE(ours.try_acquire());
    CHECK_FALSE(late.try_take("semaphore2", path));
    late.queue_up("semaphore2", path);
    REQUIRE(turns(path, 1));
    CHECK_FALSE(ours.try_acquire_for(300ms));
    CHECK_FALSE(late.answered());
    held.release();
    const fencing_token token{late.granted(), 0};
    CHECK(token > held.fence());
    java.release();
    auto both = ours.try_acquire_for(300ms, 2);
    CHECK_FALSE(both);
    late.release();
    both = ours.try_acquire_for(patience(), 2);
    CHECK(both);
    CHECK_FALSE(java.try_take("semaphore2", path));
    both.release();
    CHECK(java.try_take("semaphore2", path, patience()));
    java.release();
    CHECK(leases(path, 0));
    CHECK(turns(path, 0));
  }

  TEST_CASE("with one permit it is Curator's InterProcessSemaphoreMutex") {
    const auto path = fresh_path();
    client here{servers().connect_string(), quick(10s)};
    semaphore ours{here, path, 1};
    contender_there java{curator(), fresh_name("curator")};
    auto held = ours.acquire();
    CHECK_FALSE(java.try_take("semaphore_mutex", path));
    java.queue_up("semaphore_mutex", path);
    REQUIRE(turns(path, 1));
    held.release();
    java.granted();
    CHECK_FALSE(ours.try_acquire());
    CHECK_FALSE(ours.try_acquire_for(300ms));
    java.release();
    CHECK(ours.try_acquire_for(patience()));
    CHECK(leases(path, 0));
  }

  TEST_CASE("three of latchkey and three of Curator never have more than two permits, whoever dies, and lose none") {
    const auto path = fresh_path();
    history seen;
    mixed_contenders all{4s, three_of_each};
    all.start({path, until_stopped, 2ms, {"semaphore2", "semaphore2"}, "semaphore2", {}}, seen);
    REQUIRE(all.all_go_on(seen, 10));
    for (auto* const each : {&all.latchkey(0), &all.curator(0)}) {
      CAPTURE(each->name());
      expire(*each, seen);
      CHECK(all.all_go_on(seen, 5));
    }
    for (auto* const each : {&all.latchkey(1), &all.curator(2)}) {  // alone in its process
      CAPTURE(each->name());
      all.kill(each->name(), seen);
      CHECK(all.all_go_on(seen, 5));
    }
    check_all_go_on_without_leader(all, seen);
    all.stop();
    const auto periods = seen.periods();
    MESSAGE(periods.size() << " grants");
    CHECK(first_of(excess(periods, 2)) == "");
    CHECK_FALSE(excess(periods, 1).empty());
    check_all_can_be_had(path);
  }
}

}  // namespace latchkey::testing
