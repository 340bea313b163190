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

  TEST_CASE("a watch that is forgotten counts until its node changes: the C client still has it") {
    stage here;
    const auto session = [&](auto what) {
      return here.client.run([&] { return what(here.client.core()->session()); });
    };
    const auto may = [&](detail::watch_room room) {
      return session([&](auto& of) { return of.may_watch("/other", room); });
    };
    const std::string long_name(1000, 'x');
    std::vector<std::string> paths;
    for (int i = 0; i < 300; ++i) {
      paths.push_back("/q/" + long_name + std::to_string(i));
      here.ensemble.create(paths.back());
    }
    here.time.run_for(100ms);
    const auto watch_and_forget = [&](const std::string& path) {
      session([&](auto& of) {
        auto mine = of.submit(
            {.kind = operation::get, .path = path}, [](detail::reply&) {},
            [](watch_event) { FAIL("it was forgotten"); });
        of.forget(mine);
      });
      here.time.run_for(10ms);
    };
    CHECK(may(detail::watch_room::spare));
    for (const auto& each : paths) watch_and_forget(each);
    CHECK_FALSE(may(detail::watch_room::spare));  // some 300 of 256 KiB
    CHECK(may(detail::watch_room::own));
    CHECK(session([&](auto& of) { return of.may_watch(paths.front(), detail::watch_room::spare); }));  // is in the list
    for (int i = 0; i < 3; ++i) watch_and_forget(paths.front());                                       // the same again
    for (const auto& each : paths) here.ensemble.remove(each);
    here.time.run_for(1s);
    CHECK(may(detail::watch_room::spare));
    CHECK(here.client.unfinished().empty());
  }

  TEST_CASE("a watch that was not set, for want of the node, does not count") {
    stage here;
    const std::string missing = "/" + std::string(100'000, 'x');
    for (int i = 0; i < 10; ++i) {
      here.client.run([&] {
        auto mine = here.client.core()->session().submit(
            {.kind = operation::get, .path = missing + std::to_string(i)}, [](detail::reply&) {}, [](watch_event) {});
        here.client.core()->session().forget(mine);
      });
      here.time.run_for(100ms);
    }
    CHECK(
        here.client.run([&] { return here.client.core()->session().may_watch("/other", detail::watch_room::spare); }));
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
