// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <latchkey/testing/ensemble.hpp>

#include "support.hpp"

using namespace latchkey::testing;

TEST_SUITE_BEGIN("partition");

TEST_CASE("a leader cut off from the others is replaced and follows when healed") {
  auto& servers = three_servers();
  const auto old = *servers.leader();
  servers.isolate(old, link_fault::cut);
  CHECK(eventually([&] {
    const auto now = servers.leader();
    return now && *now != old;
  }));
  servers.wait_for_quorum(patience);
  servers.heal(old);
  servers.wait_until_serving(old, patience);
  CHECK(std::ranges::count(servers.followers(), old) == 1);
}

TEST_CASE("a follower in a black hole goes on serving stale reads, then notices") {
  auto& servers = three_servers();
  const auto one = servers.followers().front();
  raw_client stale{servers.address(one)};
  servers.isolate(one);
  servers.create("/news");
  CHECK_FALSE(stale.exists("/news").has_value());
  CHECK(eventually([&] {
    try {
      return servers.admin(one).srvr().mode.empty();
    } catch (const cluster_error&) {
      return true;  // it says that it does not serve
    }
  }));
  servers.heal();
  servers.wait_until_serving(one, patience);
  raw_client fresh{servers.address(one)};
  fresh.sync();
  CHECK(fresh.exists("/news").has_value());
  servers.remove("/news");
}

TEST_CASE("two isolated servers leave no quorum and healing one is enough") {
  auto& servers = three_servers();
  servers.isolate(0, link_fault::cut);
  servers.isolate(1, link_fault::cut);
  CHECK_THROWS_AS(servers.wait_for_quorum(300ms), cluster_error);
  servers.heal(0);
  servers.wait_for_quorum(patience);
  servers.heal(1);
  servers.wait_until_serving(1, patience);
}

TEST_SUITE_END();
