// SPDX-License-Identifier: Apache-2.0
/// A server that is sent a sequencer asks the ensemble: what real servers answer, and what that costs.

#include <latchkey/sequencer.hpp>

#include <algorithm>
#include <optional>

#include <doctest/doctest.h>
#include <latchkey/mutex.hpp>
#include <latchkey/testing/raw_client.hpp>

#include "support/overlap.hpp"
#include "support/reached.hpp"
#include "test_cases.hpp"

namespace latchkey::testing {
namespace {

/// A holder, what it has sent, and a server that checks it: its requests are counted.
struct counted_server {
  std::string path = fresh_path();
  client owner{servers().connect_string(), quick()};
  mutex lock{owner, path};
  guard held = lock.acquire();
  sequencer sent = sequencer_of(held.grant());
  counted here;
  sequencer_cache cache{here.owner};

  void release() {
    held.release();
    REQUIRE(queued(path, 0));
  }
};

}  // namespace

TEST_SUITE("sequencer") {
  TEST_CASE("a check is one transaction, whatever it finds") {
    counted_server w;
    CHECK(check_sequencer(w.here.owner, w.sent, patience()));
    CHECK(w.here.since() == counts{{"multi", 1}});
    w.release();
    CHECK_FALSE(check_sequencer(w.here.owner, w.sent, patience()));
    CHECK(w.here.since() == counts{{"multi", 1}});
  }

  LATCHKEY_TEST_CASES("the first look is a transaction and a read, further ones are nothing", who, all_callers()) {
    counted_server w;
    group_of_actors all{who};
    all.start([&] {
      CHECK(w.cache.looks_valid(w.sent, patience()));
      CHECK(w.here.since() == counts{{"multi", 1}, {"getData", 1}});
      for (int i = 0; i < 1000; ++i) CHECK(w.cache.looks_valid(w.sent));
      CHECK(w.here.since() == counts{});
      CHECK(watches_of(w.here.owner.session_id()) == 1);
      w.release();
      CHECK(eventually([&] { return !w.cache.looks_valid(w.sent); }));
    });
    all.join();
    CHECK(leaves_nothing(w.path));
  }

  TEST_CASE("a follower that is cut off still shows the node of a lost grant, but no check says yes") {
    const std::string path = "/lock";
    ensemble all{{.sync_limit = 40, .quorum_proxies = true}};  // it shows the node for 20 s
    const auto leader = all.wait_for_leader(patience());
    const auto cut = (leader + 1) % all.size();
    all.wait_until_serving(cut, patience());
    raw_client reader{all.address(cut)};
    client first{all.connect_string(cut), quick(4s)};
    client near{all.connect_string(cut), quick(60s)};  // with a lease for as long as that takes
    client far{all.connect_string(leader), quick(60s)};
    sequencer_cache hints{near};
    mutex lock{first, path};
    const auto held = lock.acquire();
    const auto sent = sequencer_of(held.grant());
    REQUIRE(check_sequencer(near, sent, patience()));
    REQUIRE(check_sequencer(far, sent, patience()));
    REQUIRE(hints.looks_valid(sent, patience()));

    all.isolate(cut);
    REQUIRE(eventually([&] { return !check_sequencer(far, sent, patience()); }));
    CHECK_FALSE(held);
    CHECK(reader.exists(sent.node));      // not on 3.5, here and below: HAZARDS S3
    CHECK(hints.looks_valid(sent, 0ms));  // what a hint is worth
    CHECK(error_of([&] { return check_sequencer(near, sent, 100ms); }) == errc::unreachable);
    CHECK(reader.exists(sent.node));

    all.heal();
    all.wait_until_serving(cut, patience());
    CHECK_FALSE(check_sequencer(near, sent, patience()));
    CHECK_FALSE(hints.looks_valid(sent, patience()));
  }

  TEST_CASE("a leader that has lost its quorum says neither yes nor no") {
    const auto leader = everybody_serves().leader;
    client owner{servers().connect_string(leader), quick(4s)};
    client other{servers().connect_string(leader), quick(4s)};
    mutex lock{owner, fresh_path()};
    const auto held = lock.acquire();
    const auto sent = sequencer_of(held.grant());
    auto missing = sent;
    missing.node.back() = missing.node.back() == '9' ? '8' : '9';
    servers().isolate(leader);
    for (const auto& each : {sent, missing}) {
      CHECK(error_of([&] { return check_sequencer(other, each, 100ms); }) == errc::unreachable);
    }
    servers().heal();
    servers().wait_until_serving(leader, patience());
    CHECK_FALSE(check_sequencer(other, missing, patience()));
  }

  TEST_CASE("an answer that is lost is asked for again, be it yes or no") {
    counted_server w;
    for (const bool there : {true, false}) {
      if (!there) w.release();
      w.here.net.drop_reply_of_next(opcode::multi);
      CHECK(check_sequencer(w.here.owner, w.sent, patience()) == there);
      CHECK(w.here.net.wait_for_faults(patience()));
      w.here.net.drop_next(opcode::multi);
      CHECK(check_sequencer(w.here.owner, w.sent, patience()) == there);
      CHECK(w.here.net.wait_for_faults(patience()));
    }
  }

  TEST_CASE("a check goes on in the next session of its client") {
    counted_server w;
    expire_session(w.here.owner);
    CHECK(check_sequencer(w.here.owner, w.sent, patience()));
    w.release();
    expire_session(w.here.owner);
    CHECK_FALSE(check_sequencer(w.here.owner, w.sent, patience()));
  }

  TEST_CASE("the server may have another chroot than the holder, or none") {
    const auto chroot = fresh_path();
    client owner{servers().connect_string() + chroot, quick()};
    client other{servers().connect_string() + fresh_path(), quick()};
    client none{servers().connect_string(), quick()};
    mutex lock{owner, "/a lock:100%/é"};
    auto held = lock.acquire();
    const auto sent = parse_sequencer(to_string(sequencer_of(held.grant())));
    CHECK(sent.node.starts_with(chroot + "/a lock:100%/é/_c_"));
    for (auto* each : {&owner, &other, &none}) {
      CHECK(check_sequencer(*each, sent, patience()));
      CHECK(sequencer_cache{*each}.looks_valid(sent, patience()));
    }
    held.release();
    REQUIRE(queued(chroot + "/a lock:100%/é", 0));
    for (auto* each : {&owner, &other, &none}) CHECK_FALSE(check_sequencer(*each, sent, patience()));
  }

  TEST_CASE("without the permission r on the node there is no answer but an error") {
    auto options = quick();
    options.authentication = {{"digest", "owner:secret"}};
    options.acl = {{"auth", "", "cdrwa"}};
    client owner{servers().connect_string(), options};
    client other{servers().connect_string(), quick()};
    mutex lock{owner, fresh_path()};
    const auto held = lock.acquire();
    const auto sent = sequencer_of(held.grant());
    CHECK(error_of([&] { return check_sequencer(other, sent, patience()); }) == errc::not_authorized);
    CHECK(error_of([&] { return sequencer_cache{other}.looks_valid(sent, patience()); }) == errc::not_authorized);
    CHECK(check_sequencer(owner, sent, patience()));
  }
}

}  // namespace latchkey::testing
