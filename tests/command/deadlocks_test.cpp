// SPDX-License-Identifier: Apache-2.0
/// Who waits for whom, as `latchkey deadlocks` sees it.

#include <doctest/doctest.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "deadlocks.hpp"

namespace command {
namespace {

using namespace std::chrono_literals;
using latchkey::contender;

const wall_time looked_at{std::chrono::seconds{1'700'000'000}};

contender one_of(std::int64_t session, bool holds, contender::kind what = contender::kind::lock) {
  contender who;
  who.node = "node-of-" + std::to_string(session);
  who.what = what;
  who.holds = holds;
  who.session = session;
  who.label = "s" + std::to_string(session);
  who.host = "host";
  who.since = looked_at - 12s;
  return who;
}

queue at(std::string path, std::vector<contender> all) {
  queue one{std::move(path), std::move(all)};
  for (const auto& each : one.contenders) ++(each.holds ? one.holders : one.waiters);
  return one;
}

/// The first holds, the others wait.
queue held_by(std::string path, const std::vector<std::int64_t>& sessions) {
  std::vector<contender> all;
  for (const auto each : sessions) all.push_back(one_of(each, all.empty()));
  return at(std::move(path), std::move(all));
}

/// @returns the sessions of each circle.
std::vector<std::vector<std::int64_t>> sessions_of(const std::vector<queue>& all) {
  std::vector<std::vector<std::int64_t>> found;
  for (const auto& each : circles_of(all)) {
    found.emplace_back();
    for (const auto& who : each) found.back().push_back(who.id);
  }
  return found;
}

using ids = std::vector<std::vector<std::int64_t>>;

}  // namespace

TEST_SUITE("deadlocks") {
  TEST_CASE("each of two holds what the other waits for") {
    CHECK(sessions_of({held_by("/a", {1, 2}), held_by("/b", {2, 1})}) == ids{{1, 2}});
    CHECK(sessions_of({held_by("/a", {1, 2}), held_by("/b", {1, 2})}).empty());
    CHECK(sessions_of({held_by("/a", {1, 2})}).empty());
    CHECK(sessions_of({}).empty());
  }

  TEST_CASE("a circle may be longer, and who only waits for it is not in it") {
    CHECK(sessions_of({held_by("/a", {1, 2, 9}), held_by("/b", {2, 3}), held_by("/c", {3, 1})}) == ids{{1, 2, 3}});
    CHECK(sessions_of({held_by("/a", {1, 2}), held_by("/b", {2, 1}), held_by("/c", {3, 4}), held_by("/d", {4, 3})}) ==
          ids{{1, 2}, {3, 4}});
  }

  TEST_CASE("who stands before another in a queue is waited for, too") {
    CHECK(sessions_of({held_by("/a", {7, 1, 2}), held_by("/b", {2, 1})}) == ids{{1, 2}});  // once 7 has let go
    CHECK(sessions_of({held_by("/a", {7, 2, 1}), held_by("/b", {1, 2}), held_by("/c", {8, 7})}) == ids{{1, 2}});
    CHECK(sessions_of({held_by("/a", {7, 1, 2}), held_by("/b", {2, 8})}).empty());
  }

  TEST_CASE("places of one session do not stand in each other's way") {
    CHECK(sessions_of({held_by("/a", {1, 1})}).empty());
    CHECK(sessions_of({held_by("/a", {1, 1}), held_by("/b", {1, 1})}).empty());
  }

  TEST_CASE("readers wait for writers only") {
    using enum contender::kind;
    const auto readers = [](std::string path, std::int64_t one, std::int64_t two) {
      return at(std::move(path), {one_of(one, true, read), one_of(two, true, read)});
    };
    CHECK(sessions_of({readers("/a", 1, 2), readers("/b", 2, 1)}).empty());
    const auto behind_a_writer = at("/a", {one_of(1, true, read), one_of(3, false, write), one_of(2, false, read)});
    CHECK(sessions_of({behind_a_writer, held_by("/b", {2, 3})}) == ids{{2, 3}});
    CHECK(sessions_of({behind_a_writer, held_by("/b", {2, 1})}) == ids{{1, 2, 3}});
  }

  TEST_CASE("a permit comes from any who has one") {
    using enum contender::kind;
    const auto permits = [](std::int64_t one, std::int64_t two, std::int64_t waits) {
      return at("/s", {one_of(one, true, permit), one_of(two, true, permit), one_of(waits, false, permit)});
    };
    CHECK(sessions_of({permits(1, 5, 2), held_by("/a", {2, 1})}).empty());
    CHECK(sessions_of({permits(1, 3, 2), held_by("/a", {2, 1, 3})}) == ids{{1, 2, 3}});
  }

  TEST_CASE("a permanent node waits for no one") {
    auto foreign = one_of(0, false);
    CHECK(sessions_of({at("/a", {one_of(1, true), foreign})}).empty());
  }

  TEST_CASE("what has changed between two looks is no deadlock") {
    const std::vector<queue> now{held_by("/a", {1, 2}), held_by("/b", {2, 1})};
    CHECK(circles_of(unchanged(now, now)).size() == 1);
    CHECK(circles_of(unchanged({held_by("/a", {1, 2}), held_by("/b", {2})}, now)).empty());
    CHECK(circles_of(unchanged({held_by("/a", {2, 1}), held_by("/b", {2, 1})}, now)).empty());
    CHECK(circles_of(unchanged({}, now)).empty());
  }

  TEST_CASE("it is told who holds what, and waits for what") {
    const auto found = circles_of({held_by("/a", {1, 2}), held_by("/b", {2, 1})});
    CHECK(text_of(found, looked_at) ==
          "a possible deadlock of 2 sessions:\n"
          "  s1@host pid 0  session 0x1\n"
          "    holds     /a  lock  for 12s  node-of-1\n"
          "    waits for /b  lock  for 12s  node-of-1\n"
          "  s2@host pid 0  session 0x2\n"
          "    holds     /b  lock  for 12s  node-of-2\n"
          "    waits for /a  lock  for 12s  node-of-2\n");
    const auto read = nlohmann::json::parse(json_of(found.front()));
    CHECK(read["sessions"].size() == 2);
    CHECK(read["sessions"][0]["holds"][0]["path"] == "/a");
    CHECK(read["sessions"][0]["waits"][0]["node"] == "node-of-1");
  }
}

}  // namespace command
