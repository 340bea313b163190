// SPDX-License-Identifier: Apache-2.0
/// Writers who leave their place for another one at the end of a line, behind readers and writers.

#include <doctest/doctest.h>

#include <optional>

#include "support/habitual.hpp"

namespace latchkey::testing {
namespace {

using namespace std::chrono_literals;

/// A writer who has waited for another one, and was then let in by a list (as a writer ahead may come back as a
/// reader).
struct writer_again : habitual<lock_family::shared> {
  simulated_lock third{two, "/q", {lock_family::shared}};
  simulated_lock::call behind;

  /// @param kind of the third, who has queued behind; none if there is nobody
  explicit writer_again(std::optional<contender_kind> kind) {
    const auto theirs = other.enter(1, mode);
    REQUIRE(queued(2));
    leave();
    const auto again = lock->enter(1, mode);
    REQUIRE(ends(theirs, outcome::granted));
    REQUIRE(queued(2));
    if (kind) behind = third.enter(1, *kind);
    REQUIRE(queued(kind ? 3 : 2));
    other.leave(1, mode);
    REQUIRE(ends(again, outcome::granted));
    REQUIRE(queued(kind ? 2 : 1));
    one.connector().forget_sent();
  }

  simulated_lock::call come_back() {
    leave();
    return lock->enter(1, mode);
  }
};

}  // namespace

TEST_SUITE("requeue at the end of a line") {
  TEST_CASE("a reader ahead whose node is younger than ours leaves the tokens in order") {
    writer_again w{std::nullopt};
    const auto theirs = w.other.enter(1, w.mode);
    REQUIRE(w.queued(2));
    w.one.connector().set_trap(operation::children, trap::stuck);  // the list that comes with the transaction
    const auto again = w.come_back();
    REQUIRE(w.ends(theirs, outcome::granted));
    REQUIRE(w.ends(w.other.downgrade(1), outcome::granted));
    CHECK(w.sent(operation::sync) == 0);  // which frees the list
    REQUIRE(w.eventually([&] { return w.sent(operation::get) > 0; }));
    CHECK(again->what == outcome::waiting);
    REQUIRE(w.queued(2));
    w.other.leave(1, contender_kind::read);
    REQUIRE(w.ends(again, outcome::granted));
    CHECK(w.sent(request_kind::requeue) == 1);
    const auto fence = w.fence();
    CHECK(fence.czxid >= w.made());
    const auto later = w.other.enter(1, w.mode);
    w.leave();
    REQUIRE(w.ends(later, outcome::granted));
    CHECK(w.other.current(1, w.mode).fence() > fence);
  }

  TEST_CASE("a reader who is the last behind is waited for, and the writer's own node tells when it was made") {
    writer_again w{contender_kind::read};
    const auto again = w.come_back();
    REQUIRE(w.ends(w.behind, outcome::granted));
    REQUIRE(w.queued(2));
    CHECK(again->what == outcome::waiting);
    CHECK(w.sent(request_kind::requeue) == 1);
    CHECK(w.sent(operation::children) == 0);
    CHECK(w.sent(operation::get) == 2);  // his, and its own: is it still there, and when was it made
    w.third.leave(1, contender_kind::read);
    REQUIRE(w.ends(again, outcome::granted));
    CHECK(w.sent(operation::children) == 0);  // he was the only one
    CHECK(w.fence().czxid == w.made());
  }

  TEST_CASE("a writer who is the last behind and becomes a reader is still waited for") {
    writer_again w{contender_kind::write};
    const auto again = w.come_back();
    REQUIRE(w.ends(w.behind, outcome::granted));
    REQUIRE(w.queued(2));
    CHECK(w.one.connector().sent() == 3);
    REQUIRE(w.ends(w.third.downgrade(1), outcome::granted));
    w.time.run_for(1s);
    CHECK(again->what == outcome::waiting);
    w.third.leave(1, contender_kind::read);
    REQUIRE(w.ends(again, outcome::granted));
    CHECK(w.fence().czxid <= w.made());
  }
}
}  // namespace latchkey::testing
