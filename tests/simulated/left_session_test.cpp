// SPDX-License-Identifier: Apache-2.0
/// What a process that was killed leaves, and what the next one makes of that.
#include <latchkey/testing/simulated_ensemble.hpp>

#include <optional>

#include <doctest/doctest.h>

#include <latchkey/error.hpp>
#include <latchkey/mutex.hpp>

#include "callers.hpp"
#include "error_of.hpp"
#include "log_lines.hpp"
#include "temporary_folder.hpp"

namespace latchkey::testing {
namespace {

struct stage {
  const temporary_folder folder;
  simulated_ensemble ensemble;

  client_options recorded(const char* file = "session") const {
    client_options options;
    options.session_file = folder / file;
    options.session_timeout = 1min;  // its clock goes on with that of the machine, which may be starved
    return options;
  }
  /// Long enough for the end of a session that was left.
  void start_again() {
    client next{ensemble, recorded()};
    REQUIRE(next.wait_for_connection(30s));
    ensemble.advance(1s);
  }
};

}  // namespace

TEST_CASE_FIXTURE(stage,
                  "what a killed process held is held until its session timeout, and no grant of it is looked at") {
  client killed{ensemble, recorded()};
  mutex lock{killed, "/locks/nightly"};
  const auto held = lock.acquire();
  client other{ensemble};
  mutex of_other{other, "/locks/nightly"};
  ensemble.abandon(killed);
  CHECK_FALSE(held);
  CHECK(error_of([&] { return lock.try_acquire(); }) == errc::closed);
  CHECK_FALSE(of_other.try_acquire());
  ensemble.advance(45s);
  CHECK_FALSE(of_other.try_acquire());
  ensemble.advance(20s);
  CHECK(of_other.try_acquire());
}

TEST_CASE_FIXTURE(stage, "it is free at once when the process is started again with its session file") {
  const log_lines lines{log_level::info};
  std::optional<client> killed{std::in_place, ensemble, recorded()};
  mutex lock{*killed, "/locks/nightly"};
  const auto held = lock.acquire();
  const auto session = killed->session_id();
  ensemble.abandon(*killed);
  const auto before = ensemble.now();
  client next{ensemble, recorded()};
  mutex again{next, "/locks/nightly"};
  CHECK(again.acquire());
  CHECK(ensemble.now() - before < 30s);  // not half of its session timeout
  CHECK(next.session_id() != session);
  CHECK(lines.wait_for("the session of an earlier run was ended", 30s));
}

TEST_CASE_FIXTURE(stage, "a heal of the whole network brings no killed process back") {
  client killed{ensemble};
  mutex lock{killed, "/locks/nightly"};
  const auto held = lock.acquire();
  ensemble.abandon(killed);
  ensemble.heal();
  ensemble.advance(20s);
  CHECK(ensemble.children("/locks/nightly").empty());
}

TEST_CASE_FIXTURE(
    stage, "the next process ends a session also if it is closed at once, or when it is started for the second time") {
  client killed{ensemble, recorded()};
  mutex lock{killed, "/locks/nightly"};
  const auto held = lock.acquire();
  ensemble.abandon(killed);
  ensemble.cut();
  { const client hasty{ensemble, recorded()}; }
  ensemble.heal();
  CHECK(ensemble.children("/locks/nightly").size() == 1);
  const client next{ensemble, recorded()};
  CHECK(queued(ensemble, "/locks/nightly", 0));
}

TEST_CASE_FIXTURE(stage, "a client may be destroyed at any moment while it ends a session") {
  for (int i = 0; i < 200; ++i) {
    {
      client killed{ensemble, recorded()};
      REQUIRE(killed.wait_for_connection(30s));
      ensemble.abandon(killed);
    }
    client next{ensemble, recorded()};
    if (i % 2 == 0) REQUIRE(next.wait_for_connection(30s));
  }
}

TEST_CASE_FIXTURE(stage, "a client that is closed leaves nothing to end") {
  const log_lines lines{log_level::info};
  {
    client own{ensemble, recorded()};
    mutex lock{own, "/locks/nightly"};
    CHECK(lock.acquire());
  }
  const client next{ensemble, recorded()};
  ensemble.advance(1s);
  CHECK(lines.with("earlier run").empty());
}

TEST_CASE_FIXTURE(stage, "a session that has expired meanwhile is not spoken of") {
  const log_lines lines{log_level::info};
  client killed{ensemble, recorded()};
  REQUIRE(killed.wait_for_connection(30s));
  ensemble.abandon(killed);
  ensemble.advance(1min);
  start_again();
  CHECK(lines.with("earlier run").empty());
}

TEST_CASE_FIXTURE(stage, "a session that ended in the life of the process is none that the next one ends") {
  const log_lines lines{log_level::info};
  client killed{ensemble, recorded()};
  REQUIRE(killed.wait_for_connection(30s));
  const auto first = killed.session_id();
  ensemble.expire_session(killed);
  REQUIRE(killed.wait_for_connection(30s));
  REQUIRE(killed.session_id() != first);
  ensemble.abandon(killed);
  start_again();
  CHECK(lines.with("an earlier run was ended").size() == 1);
}

TEST_CASE_FIXTURE(stage, "a client that lives keeps its file, though it is cut off") {
  const client own{ensemble, recorded()};
  CHECK(error_of([&] { return client{ensemble, recorded()}.connected(); }) == errc::session_file_in_use);
  ensemble.cut(own);
  CHECK(error_of([&] { return client{ensemble, recorded()}.connected(); }) == errc::session_file_in_use);
  CHECK(error_of([&] { return client{ensemble, recorded("another")}.connected(); }) == std::error_code{});
}

TEST_CASE_FIXTURE(stage, "a client whose file cannot be used says so when it is made") {
  CHECK(error_of([&] { return client{ensemble, recorded("no/such/folder")}.connected(); }) == errc::bad_option);
}

}  // namespace latchkey::testing
