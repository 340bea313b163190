// SPDX-License-Identifier: Apache-2.0
/// What every lock of the family does when it is lost, when its client is closed, and when replies are.

#include <atomic>
#include <stop_token>

#include <doctest/doctest.h>

#include "support/family.hpp"
#include "support/reached.hpp"

namespace latchkey::testing {

TEST_SUITE("family loss") {
  LATCHKEY_TEST_CASES("an expired session is the loss of its grant, and the next in line is served", kind, family()) {
    const auto path = fresh_path();
    client first{servers().connect_string(), quick(20s)};  // the expiry is known long before the deadline passes
    client second{servers().connect_string(), quick()};
    const auto holder = kind.make(first, path);
    const auto other = kind.make_rival(second, path);
    std::atomic<bool> other_granted{false};
    signal held;
    signal lost;
    group_of_actors all{kind.who};
    all.start([&] {
      holder->lock();
      const auto grant = holder->held();
      const auto stop = grant.stop_token();
      const std::stop_callback on_loss{stop, [&] { CHECK_FALSE(grant); }};
      held.set();
      REQUIRE(queued(path, 2));
      expire_session(first);
      CHECK(grant.wait_for_end(patience()));
      CHECK_FALSE(grant);
      // The deletion of the node may be heard of before the end of its session.
      const auto why = grant.loss().value();
      CHECK((why == loss_reason::session_expired || why == loss_reason::node_deleted));
      CHECK(eventually([&] { return stop.stop_requested(); }));
      CHECK_FALSE(holder->held());
      holder->unlock();  // does nothing
      CHECK(eventually([&] { return other_granted.load(); }));
      CHECK_FALSE(holder->try_lock());
      lost.set();
      holder->lock();  // works again, in the new session
      CHECK(holder->held().fence() > grant.fence());
      holder->unlock();
    });
    all.start([&] {
      held.wait();
      other->lock();
      other_granted = true;
      lost.wait();
      other->unlock();
    });
    all.join();
    CHECK(leaves_nothing(path));
  }

  LATCHKEY_TEST_CASES("callers of one object wait for the unlock of the one that has lost the lock", kind,
                      by_all_callers({&kinds::plain, &kinds::reentrant, &kinds::fair, &kinds::writer,
                                      &kinds::lingering_mutex, &kinds::lingering_writer})) {
    const auto path = fresh_path();
    client owner{servers().connect_string(), quick()};
    client outside{servers().connect_string(), quick()};
    const auto lock = kind.make(owner, path);
    const auto theirs = kind.make(outside, path);
    std::atomic<bool> second_in{false};
    signal held;
    group_of_actors all{kind.who};
    all.start([&] {
      lock->lock();
      const auto grant = lock->held();
      held.set();
      expire_session(owner);
      REQUIRE(grant.wait_for_end(patience()));
      REQUIRE(missing_connection(owner) == "");
      if (kind.lock->one_place_each) {
        REQUIRE(queued(path, 1));  // of the second, who has the lock at the ensemble now
      } else {
        CHECK(theirs->try_lock_for(patience()));  // it is free at the ensemble
        theirs->unlock();
      }
      CHECK_FALSE(second_in);
      lock->unlock();
      CHECK(eventually([&] { return second_in.load(); }));
    });
    all.start([&] {
      held.wait();
      lock->lock();
      second_in = true;
      lock->unlock();
    });
    all.join();
    CHECK(queued(path, 0));
  }

  LATCHKEY_TEST_CASES("a waiter whose session expired queues again, and is not granted the lock on its old node", kind,
                      prompt_kinds()) {
    two_of here{kind};
    signal held;
    group_of_actors all{kind.who};
    all.start([&] {
      here.holder->lock();
      held.set();
      REQUIRE(queued(here.path, 2));
      const auto before = queue_at(here.path);
      expire_session(here.second);
      REQUIRE(eventually([&] {
        const auto now = queue_at(here.path);
        return now.size() == 2 && now != before;
      }));
      CHECK(here.holder->held());
      here.holder->unlock();
    });
    all.start([&] {
      held.wait();
      CHECK(here.waiter->try_lock_for(patience()));
      CHECK(here.waiter->held());
      here.waiter->unlock();
    });
    all.join();
    CHECK(leaves_nothing(here.path));
  }

  LATCHKEY_TEST_CASES("a holder whose node is deleted by an operator is told at once", kind, family()) {
    const auto path = fresh_path();
    client owner{servers().connect_string(), quick(20s)};
    const auto lock = kind.make(owner, path);
    group_of_actors all{kind.who};
    all.start([&] {
      lock->lock();
      const auto grant = lock->held();
      const auto stop = grant.stop_token();  // who asks for it is watched over from now on
      REQUIRE(servers().remove(path + "/" + queue_at(path).at(0)));
      CHECK(grant.wait_for_end(patience()));
      CHECK(grant.loss() == loss_reason::node_deleted);
      CHECK(eventually([&] { return stop.stop_requested(); }));
      lock->unlock();
      CHECK(lock->try_lock());
      CHECK(lock->held());
      lock->unlock();
    });
    all.join();
    CHECK(leaves_nothing(path));
  }

  LATCHKEY_TEST_CASES("a waiter whose node is deleted by an operator queues again, or is told when it is let in", kind,
                      prompt_kinds()) {
    two_of here{kind};
    signal held;
    group_of_actors all{kind.who};
    all.start([&] {
      here.holder->lock();
      held.set();
      REQUIRE(queued(here.path, 2));
      REQUIRE(servers().remove(here.path + "/" + queue_at(here.path).at(1)));
      CHECK(here.holder->held());
      here.holder->unlock();
    });
    all.start([&] {
      held.wait();
      REQUIRE(here.waiter->try_lock_for(patience()));
      // Who waited for less than a proof lasts has not asked the ensemble again; who wants to be stopped is told now.
      const auto grant = here.waiter->held();
      const auto stop = grant.stop_token();
      CHECK(eventually([&] { return queue_at(here.path).size() == 1 || grant.loss() == loss_reason::node_deleted; }));
      here.waiter->unlock();
    });
    all.join();
    CHECK(queued(here.path, 0));
  }

  LATCHKEY_TEST_CASES("closing a client wakes every waiter, ends every grant and leaves nothing", kind, family()) {
    two_of here{kind};
    const auto also_held = kind.make(here.second, here.path + "-2");
    here.holder->lock();
    also_held->lock();
    const auto grant = also_held->held();
    group_of_actors all{kind.who};
    for (int i = 0; i < 3; ++i) {
      all.start([&] { CHECK(error_of([&] { here.waiter->lock(); }) == errc::closed); });
    }
    all.start([&] {
      REQUIRE(queued(here.path, kind.lock->one_place_each ? 4 : 2));
      here.second.close();
      CHECK(queue_at(here.path).size() == 1);
      CHECK(queue_at(here.path + "-2").empty());
    });
    all.join();
    CHECK_FALSE(grant);
    CHECK(grant.loss() == loss_reason::client_closed);
    also_held->unlock();
    CHECK(error_of([&] { (void)also_held->try_lock(); }) == errc::closed);
    CHECK(error_of([&] { kind.make(here.second, here.path)->lock(); }) == errc::closed);
    CHECK(here.holder->held());
    here.holder->unlock();
    CHECK(leaves_nothing(here.path));
  }

  LATCHKEY_TEST_CASES("the reply to the create is lost, after or before its effect", kind, family()) {
    for (const bool after : {true, false}) {
      CAPTURE(after);
      const auto path = fresh_path();
      servers().create_all(path);
      reached_by_proxy here;
      const auto lock = kind.make(here.owner, path);
      const auto session = here.owner.session_id();
      if (after) {
        here.net.drop_reply_of_next(opcode::create2);
      } else {
        here.net.drop_next(opcode::create2);
      }
      group_of_actors all{kind.who};
      all.start([&] {
        lock->lock();
        CHECK(here.owner.session_id() == session);
        REQUIRE(queue_at(path).size() == 1);
        CHECK(lock->held().fence().czxid == servers().exists(path + "/" + queue_at(path)[0])->czxid);
        lock->unlock();
      });
      all.join();
      CHECK(queued(path, 0));
    }
  }

  LATCHKEY_TEST_CASES("a delete that is repeated cannot hit a newer grant", kind, prompt_kinds()) {
    const auto path = fresh_path();
    reached_by_proxy here;
    const auto lock = kind.make(here.owner, path);
    group_of_actors all{kind.who};
    all.start([&] {
      REQUIRE(lock->try_lock_for(patience()));
      here.net.drop_reply_of_next(opcode::remove);
      lock->unlock();
      REQUIRE(lock->try_lock_for(patience()));
      const auto grant = lock->held();
      REQUIRE(has_sent(here.net, opcode::remove, 2));
      CHECK(queued(path, 1));
      CHECK(lock->held() == grant);
      CHECK(grant);
      lock->unlock();
    });
    all.join();
    CHECK(leaves_nothing(path));
  }

  LATCHKEY_TEST_CASES("on a dead network a lock that is held, and its client, are destroyed in time", kind,
                      kinds_of_locks({&kinds::plain, &kinds::lingering_mutex, &kinds::reentrant, &kinds::fair,
                                      &kinds::writer, &kinds::reader})) {
    const auto path = fresh_path();
    auto options = quick(1s);
    options.close_timeout = 100ms;
    grant held;
    {
      reached_by_proxy here{options};
      const auto lock = kind->make(here.owner, path);
      REQUIRE(lock->try_lock_for(patience()));
      held = lock->held();
      here.net.black_hole();
    }
    CHECK_FALSE(held);
    CHECK(leaves_nothing(path));  // with the session
  }
}

}  // namespace latchkey::testing
