// SPDX-License-Identifier: Apache-2.0
/// Semaphores that latchkey shares with Curator's `InterProcessSemaphoreV2` and `InterProcessSemaphoreMutex`.

#include <latchkey/semaphore.hpp>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "checker.hpp"
#include "history.hpp"
#include "peers.hpp"

namespace latchkey::testing {
namespace {

bool leases(const std::string& path, std::size_t count) { return queued(path + "/leases", count); }
bool turns(const std::string& path, std::size_t count) { return queued(path + "/locks", count); }

/// Three contenders of latchkey and three of Curator, which take one of two permits again and again.
class permit_takers {
 public:
  explicit permit_takers(std::chrono::milliseconds session_timeout) {
    for (int i = 0; i < 3; ++i) processes_.push_back(start_latchkey());
    for (int i = 0; i < 2; ++i) processes_.push_back(start_curator());
    for (const std::size_t process : {0, 1, 2, 3, 3, 4}) {
      auto name = fresh_name(process < 3 ? "latchkey" : "curator");
      takers_.push_back(
          {processes_[process].get(), std::make_unique<contender_there>(*processes_[process], std::move(name),
                                                                        servers().connect_string(), session_timeout)});
    }
  }

  void start(const std::string& path, const history& into) {
    for (auto& each : takers_) each.who->say(fmt::format("rounds {} 1000000 {} 2000 semaphore2", path, into.path()));
  }

  /// @returns whether each that has not been killed is granted permits `more` times from now.
  bool all_go_on(history& seen, std::size_t more) {
    auto before = seen.grants();
    return eventually([&] {
      auto now = seen.grants();
      return std::all_of(takers_.begin(), takers_.end(), [&](const taker& each) {
        return each.killed || now[each.who->name()] >= before[each.who->name()] + more;
      });
    });
  }

  void expire(std::size_t index, history& into) {
    const auto session = takers_[index].who->session();
    into.expired(session);
    CHECK(servers().expire(session));
  }

  /// The only contender of its process.
  void kill(std::size_t index, history& into) {
    takers_[index].where->kill();
    takers_[index].killed = true;
    into.killed(takers_[index].who->name());
  }

  void stop() {
    for (auto& each : takers_) {
      if (!each.killed) each.who->say("stop");
    }
    for (auto& each : takers_) {
      if (!each.killed) each.who->answer(patience() * 8);
    }
  }

 private:
  struct taker {
    peer* where = nullptr;
    std::unique_ptr<contender_there> who;
    bool killed = false;
  };

  std::vector<std::unique_ptr<peer>> processes_;
  std::vector<taker> takers_;
};

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
    permit_takers all{4s};
    all.start(path, seen);
    REQUIRE(all.all_go_on(seen, 10));
    for (const std::size_t index : {0, 3}) {
      CAPTURE(index);
      all.expire(index, seen);
      CHECK(all.all_go_on(seen, 5));
    }
    for (const std::size_t index : {1, 5}) {
      CAPTURE(index);
      all.kill(index, seen);
      CHECK(all.all_go_on(seen, 5));
    }
    const auto leader = servers().wait_for_leader(patience());
    servers().kill(leader);
    CHECK(all.all_go_on(seen, 5));
    servers().start(leader);
    CHECK(all.all_go_on(seen, 5));
    all.stop();
    const auto periods = seen.periods();
    MESSAGE(periods.size() << " grants");
    CHECK(first_of(excess(periods, 2)) == "");
    CHECK_FALSE(excess(periods, 1).empty());
    check_all_can_be_had(path);
  }
}

}  // namespace latchkey::testing
