// SPDX-License-Identifier: Apache-2.0
// Who of a session hears of which event.
#include <doctest/doctest.h>

#include <chrono>
#include <string>
#include <vector>

#include "simulation/simulated_client.hpp"

namespace latchkey::testing {
namespace {

using namespace std::chrono_literals;
using detail::operation;
using detail::watch_event;

/// A client that is connected, and a node that is watched in both ways.
struct stage {
  stage() {
    ensemble.create("/q");
    REQUIRE(client.connect());
    time.run_for(100ms);  // all servers have it
    watch(operation::get, data);
    watch(operation::children, children);
  }

  void watch(operation kind, std::vector<watch_event>& heard) {
    client.run([&] {
      client.core()->session().submit(
          {.kind = kind, .path = "/q"}, [](detail::reply&) {}, [&heard](watch_event event) { heard.push_back(event); });
    });
    time.run_for(100ms);
  }

  simulation time{1};
  fake_ensemble ensemble{time};
  simulated_client client{ensemble};
  std::vector<watch_event> data;
  std::vector<watch_event> children;
};

}  // namespace

TEST_SUITE("session watches") {
  TEST_CASE("who watches the children of a node does not hear of its data, nor the other way round") {
    stage here;
    here.ensemble.create("/q/a");
    here.time.run_for(100ms);
    CHECK(here.children == std::vector{watch_event::children_changed});
    CHECK(here.data.empty());
    here.watch(operation::children, here.children);
    here.ensemble.change("/q", "x");
    here.time.run_for(100ms);
    CHECK(here.data == std::vector{watch_event::changed});
    CHECK(here.children.size() == 1);
    here.ensemble.create("/q/b");
    here.time.run_for(100ms);
    CHECK(here.children.size() == 2);
    CHECK(here.client.unfinished().empty());
  }

  TEST_CASE("both hear of the end of a node that is watched in both ways, once") {
    stage here;
    here.ensemble.remove("/q");
    here.time.run_for(100ms);
    CHECK(here.data == std::vector{watch_event::deleted});
    CHECK(here.children == std::vector{watch_event::deleted});
    CHECK(here.client.unfinished().empty());
  }
}
}  // namespace latchkey::testing
