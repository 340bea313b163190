// SPDX-License-Identifier: Apache-2.0
/// What a client that is closed does on its way out.

#include <doctest/doctest.h>

#include "log_lines.hpp"
#include "support/calm_world.hpp"
#include "support/scripted_connector.hpp"

namespace latchkey::testing {

using namespace std::chrono_literals;

TEST_SUITE("closing") {
  TEST_CASE("those who wait are not let in one after another") {
    calm_world w;
    simulated_lock lock{w.one, "/q", {lock_family::fair}};
    REQUIRE(w.ends(lock.enter(1, contender_kind::lock), outcome::granted));
    std::vector<simulated_lock::call> calls;
    for (std::uint64_t fiber = 2; fiber <= 500; ++fiber) calls.push_back(lock.enter(fiber, contender_kind::lock));
    REQUIRE(w.queued(500));
    w.time.run_for(10s);  // the proof at the beginning is too old to grant by
    w.one.connector().forget_sent();
    w.one.close();
    REQUIRE(w.eventually([&] { return w.one.closed(); }));
    CHECK(w.one.connector().sent(request_kind::check) == 0);
    CHECK(w.one.connector().sent(operation::children) == 0);
    CHECK(w.ensemble.children("/q").empty());
    for (const auto& each : calls) CHECK(each->what == outcome::failed);
  }

  TEST_CASE("one that gives up says what it leaves") {
    const log_lines lines{log_level::warning};
    scripted_client w;
    w.opener->opens();
    w.opener->connects({.id = 7, .timeout = 4s});
    w.own->run([&] { w.core->reaper().remove("/a/b"); });
    w.own->run([&] { w.core->close([] {}); });
    w.advance(5s - 1ms);
    CHECK(lines.all().empty());
    w.advance(1ms);
    CHECK(lines.with("closes before its nodes are deleted").size() == 1);
    CHECK(lines.with("nodes=1 session=0x7 session_timeout_ms=4000").size() == 1);
    for (const auto& each : w.opener->closings) each();
  }

  TEST_CASE("closing does not wait for a session that is being opened") {
    scripted_client w;
    bool closed = false;
    w.own->run([&] { w.core->close([&] { closed = true; }); });
    w.advance(1ms);
    CHECK(closed);
    w.opener->opens();  // too late
    CHECK(w.opener->closings.size() == 1);
    for (const auto& each : w.opener->closings) each();
  }

  TEST_CASE("nor for the next session, when the present one ends while something is left to delete") {
    scripted_client w;
    w.opener->opens();
    w.opener->connects({.id = 7, .timeout = 4s});
    w.own->run([&] { w.core->reaper().remove("/a/b"); });
    bool closed = false;
    w.own->run([&] { w.core->close([&] { closed = true; }); });
    w.advance(1s);
    CHECK_FALSE(closed);
    w.opener->openings.back().listener->on_connection(w.opener->openings.back().epoch,
                                                      detail::connection_state::expired, {});
    w.advance(1ms);
    CHECK(closed);
  }
}

}  // namespace latchkey::testing
