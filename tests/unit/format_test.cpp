// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <latchkey/format.hpp>
#include <latchkey/version.hpp>

#include <sstream>
#include <unordered_set>

#include "support/calm_world.hpp"

namespace latchkey::testing {
namespace {

template <class T>
std::string streamed(const T& what) {
  std::ostringstream out;
  out << what;
  return out.str();
}

}  // namespace

TEST_SUITE("format") {
  TEST_CASE("values are written to streams and by fmt as to_string says") {
    const fencing_token token{0x10, 7};
    CHECK(streamed(token) == "000000000000001000000007");
    CHECK(fmt::format("{}", token) == "000000000000001000000007");
    CHECK(fmt::format("{:>16}|", loss_reason::node_deleted) == "    node deleted|");
    CHECK(streamed(contender::kind::read) == "read");
    CHECK(fmt::format("{}", client_event::kind::session_expired) == "session expired");
    CHECK(streamed(log_level::warning) == "warning");
    const sequencer held{.node = "/q/_c_5f-lock-0000000041", .token = token};
    CHECK(streamed(held) == to_string(held));
    CHECK(fmt::format("{}", held) == to_string(held));
    CHECK(fmt::format("{}", commit_result{.what = commit_result::outcome::refused, .step = 1, .why = "ZNOAUTH"}) ==
          "refused: step 1, ZNOAUTH");
#ifdef __cpp_lib_format
    CHECK(std::format("{:>16}|", loss_reason::node_deleted) == "    node deleted|");
    CHECK(std::format("{}", token) == "000000000000001000000007");
#endif
  }

  TEST_CASE("a grant says its token, and what has become of it") {
    calm_world w;
    simulated_lock lock{w.one, "/q", {lock_family::turns}};
    CHECK(streamed(grant{}) == "no grant");
    const auto take = [&] {
      REQUIRE(w.ends(lock.enter(1, contender_kind::lock), outcome::granted));
      return lock.current(1, contender_kind::lock);
    };
    const auto released = take();
    CHECK(streamed(released) == to_string(released.fence()) + " held");
    lock.leave(1, contender_kind::lock);
    CHECK(streamed(released) == to_string(released.fence()) + " released");
    const auto lost = take();
    w.ensemble.expire(w.session(w.one));
    REQUIRE(w.eventually([&] { return !lost; }));
    CHECK(fmt::format("{}", lost) == fmt::format("{} lost: {}", lost.fence(), lost.loss().value()));
  }

  TEST_CASE("tokens go into unordered containers") {
    std::unordered_set<fencing_token> seen{{1, 0}, {1, 1}, {2, 0}, {1, 0}};
    CHECK(seen.size() == 3);
    CHECK(seen.contains({1, 1}));
  }

  TEST_CASE("the version is that of the project") {
    CHECK(fmt::format("{}.{}.{}", LATCHKEY_VERSION_MAJOR, LATCHKEY_VERSION_MINOR, LATCHKEY_VERSION_PATCH) ==
          LATCHKEY_PROJECT_VERSION);
    static_assert(LATCHKEY_VERSION >= 100);
  }
}

}  // namespace latchkey::testing
