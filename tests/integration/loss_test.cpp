// SPDX-License-Identifier: Apache-2.0
/// A holder knows its loss before anybody else is granted the lock: the faults of the real world, and the overlap
/// measured.

#include <latchkey/mutex.hpp>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <thread>
#include <vector>

#include <doctest/doctest.h>
#include <latchkey/testing/child_process.hpp>

#include "support/overlap.hpp"
#include "support/support.hpp"

namespace latchkey::testing {
namespace {

/// One holder, one successor, one fault between them.
template <class Fault, class Mend>
round overlap_after(client& first, client& second, std::chrono::milliseconds session_timeout, Fault fault, Mend mend) {
  const auto path = fresh_path();
  mutex holder{first, path};
  mutex successor{second, path};
  REQUIRE(holder.try_lock_for(patience()));
  const auto before = holder.held();
  const watchman eye{before};
  boottime_clock::time_point granted;
  fencing_token after;
  on_threads waiting;
  waiting.start([&] {
    REQUIRE(successor.try_lock_for(patience()));
    granted = boottime_clock::now();
    after = successor.held().fence();
    successor.unlock();
  });
  REQUIRE(eventually([&] { return queue_at(path).size() == 2 || !before; }));
  hold_for_a_while(session_timeout);
  const bool met_a_holder{before};
  fault();
  waiting.join();
  REQUIRE(eventually([&] { return eye.seen_lost(); }));
  CHECK(after > before.fence());
  CHECK(before.loss().has_value());
  mend();
  holder.unlock();
  CHECK(holder.try_lock_for(patience()));
  CHECK(holder.held().fence() > after);
  holder.unlock();
  CHECK(queued(path, 0));
  return {eye.last_held() - granted, met_a_holder};
}

}  // namespace

TEST_SUITE("loss") {
  TEST_CASE("a client that is cut off knows before anybody else is granted") {
    const auto all = in_rounds([](int i) {
      worst both;
      for (const auto timeout : {1000ms, 3000ms}) {
        proxy net{servers().addresses()};
        client first{net.connect_string(), quick(timeout)};
        client second{servers().connect_string(), quick(timeout)};
        both.add(overlap_after(
            first, second, timeout, [&] { i % 2 == 0 ? net.black_hole() : net.cut(); }, [&] { net.heal(); }));
      }
      return both;
    });
    all.report("client cut off");
  }

  TEST_CASE("a client that is cut off is warned before it loses the lock") {
    proxy net{servers().addresses()};
    client owner{net.connect_string(), quick(8s)};
    mutex lock{owner, fresh_path()};
    const auto held = lock.acquire();
    const auto token = held.grant().stop_token(2s);
    std::atomic<bool> still_held{false};
    const std::stop_callback warned{token, [&] { still_held = static_cast<bool>(held); }};
    CHECK_FALSE(token.stop_requested());
    net.black_hole();
    REQUIRE(held.grant().wait_for_end(patience()));
    CHECK(still_held);
    net.heal();
  }

  TEST_CASE("a client whose server is cut off from the quorum knows, though it is still served") {
    const auto all = in_rounds([](int i) {
      const auto timeout = i % 2 == 0 ? 1000ms : 2500ms;
      const auto [leader, followers] = everybody_serves();
      const auto cut = followers[static_cast<std::size_t>(i) % 2];
      client first{servers().connect_string(cut), quick(timeout)};
      client second{servers().connect_string(leader), quick(timeout)};
      return overlap_after(
          first, second, timeout, [&] { servers().isolate(cut); },
          [&] {
            servers().heal();
            servers().wait_until_serving(cut, patience());
          });
    });
    all.report("follower cut off");
  }

  TEST_CASE("a client on the side of a leader that is in the minority knows") {
    const auto all = in_rounds([](int) {
      constexpr auto timeout = 1500ms;
      const auto roles = everybody_serves();
      const auto leader = roles.leader;
      client first{servers().connect_string(leader), quick(timeout)};
      client second{servers().connect_string(roles.followers[0]) + "," + servers().connect_string(roles.followers[1]),
                    quick(timeout)};
      return overlap_after(
          first, second, timeout, [&] { servers().isolate(leader); },
          [&] {
            servers().heal();
            servers().wait_until_serving(leader, patience());
          });
    });
    all.report("leader in the minority");
  }

  TEST_CASE("a process that was stopped sees its loss on the first look, and its token is refused") {
    for (int i = 0; i < repetitions(); ++i) {
      constexpr auto timeout = 4000ms;
      const auto path = fresh_path();
      child_process holder{{HOLDER_PROCESS, servers().connect_string(), path, std::to_string(timeout.count())}};
      const auto said = holder.hear(patience()).value();
      REQUIRE(said.starts_with("held "));
      const auto old_token = parse_fencing_token(said.substr(5));
      holder.say("look");
      REQUIRE(holder.hear(patience()) == "held");

      client second{servers().connect_string(), quick(timeout)};
      mutex successor{second, path};
      holder.pause();
      REQUIRE(successor.try_lock_for(patience()));
      fencing_token store = successor.held().fence();  // the largest that it has seen
      holder.resume();
      holder.say("look");
      CHECK(holder.hear(patience()).value().starts_with("lost "));
      CHECK(old_token < store);
      successor.unlock();
    }
  }

  TEST_CASE("when the leader is killed, the old grant ends before a new one begins, if it ends at all") {
    for (int i = 0; i < repetitions(); ++i) {
      constexpr auto timeout = 1000ms;
      const auto path = fresh_path();
      const auto leader = servers().wait_for_leader(20s);
      client first{servers().connect_string(leader), quick(timeout)};
      client second{servers().connect_string(), quick(timeout)};
      mutex holder{first, path};
      mutex successor{second, path};
      REQUIRE(holder.try_lock_for(patience()));
      const watchman eye{holder.held()};
      boottime_clock::time_point granted;
      on_threads waiting;
      waiting.start([&] {
        REQUIRE(successor.try_lock_for(60s));
        granted = boottime_clock::now();
        successor.unlock();
      });
      REQUIRE(queued(path, 2));
      servers().kill(leader);  // the only server that the holder knows
      waiting.join();
      REQUIRE(eventually([&] { return eye.seen_lost(); }));
      CHECK(eye.last_held() <= granted);
      servers().start(leader);
      holder.unlock();
    }
  }

  TEST_CASE("a grant survives when every server is restarted in turn") {
    const auto path = fresh_path();
    client first{servers().connect_string(), quick(60s)};
    mutex holder{first, path};
    holder.lock();
    const auto before = holder.held();
    const auto session = first.session_id();
    for (std::size_t server = 0; server < servers().size(); ++server) {
      servers().restart(server);
      servers().wait_until_serving(server, 30s);
    }
    CHECK(before);
    CHECK(first.session_id() == session);
    CHECK(queue_at(path).size() == 1);
    holder.unlock();
    CHECK(queued(path, 0));
  }

  TEST_CASE("observers hear of the suspicion before the loss, with the path and the reason") {
    std::mutex guard;
    std::vector<client_event> told;
    auto options = quick(12s);  // the last twelfth is far more than a machine stalls
    options.observer = [&](const client_event& event) {
      const std::lock_guard lock{guard};
      told.push_back(event);
    };
    proxy net{servers().addresses()};
    const auto path = fresh_path();
    {
      client owner{net.connect_string(), options};
      mutex lock{owner, path};
      lock.lock();
      const auto before = lock.held();
      net.black_hole();
      REQUIRE(before.wait_for_end(2 * patience()));
      CHECK_FALSE(before);
      net.heal();
      lock.unlock();
    }
    const auto is = [&](client_event::kind what) {
      return std::find_if(told.begin(), told.end(), [what](const client_event& event) { return event.what == what; });
    };
    const auto suspect = is(client_event::kind::suspect);
    const auto lost = is(client_event::kind::lost);
    REQUIRE(suspect != told.end());
    REQUIRE(lost != told.end());
    CHECK(suspect < lost);
    CHECK(suspect->path == path);
    CHECK(lost->path == path);
    CHECK(lost->reason == loss_reason::deadline_passed);
  }

  TEST_CASE("a proof whose reply is lost, or that is lost itself, costs no grant") {
    proxy net{servers().addresses()};
    client owner{net.connect_string(), quick(10s)};
    mutex lock{owner, fresh_path()};
    lock.lock();
    const auto before = lock.held();
    for (const bool after : {true, false}) {
      after ? net.drop_reply_of_next(opcode::multi) : net.drop_next(opcode::multi);
      REQUIRE(net.wait_for_faults(patience()));
      const auto until = before.valid_until();
      CHECK(eventually([&] { return before.valid_until() > until; }));
    }
    CHECK(before);
    lock.unlock();
    CHECK_FALSE(before.loss());
  }

  TEST_CASE("loss at the first disconnection, for those who ask for it") {
    auto options = quick(20s);
    options.when_lost = loss_policy::at_disconnection;
    proxy net{servers().addresses()};
    client owner{net.connect_string(), options};
    const auto path = fresh_path();
    mutex lock{owner, path};
    lock.lock();
    const auto before = lock.held();
    net.disconnect();
    CHECK(before.wait_for_end(patience()));
    CHECK(before.loss() == loss_reason::deadline_passed);
    lock.unlock();
    CHECK(queued(path, 0));  // the session goes on, and the node is removed in it
    CHECK(lock.try_lock_for(patience()));
    lock.unlock();
  }
}

}  // namespace latchkey::testing
