// SPDX-License-Identifier: Apache-2.0
/// Nodes that are about to go.

#include "session/departures.hpp"

#include <doctest/doctest.h>

#include <string>
#include <vector>

namespace latchkey::detail {
namespace {

using namespace std::chrono_literals;

struct expecting {
  time_point now{1h};
  monitor own{[this] { return now; }};
  departures all{own};
  std::vector<std::string> overdue;

  bool expect(const std::string& parent, const std::string& name) {
    return all.expect(parent, name, 1s, [this, path = parent + "/" + name] { overdue.push_back(path); });
  }
  void advance(duration time) {
    now += time;
    own.run_due();
  }
};

}  // namespace

TEST_SUITE("departures") {
  TEST_CASE("a node that is not known to have gone is overdue once") {
    expecting w;
    CHECK(w.expect("/a", "x"));
    w.advance(1s - 1us);
    CHECK(w.overdue.empty());
    w.advance(1us);
    CHECK(w.overdue == std::vector<std::string>{"/a/x"});
    w.advance(1min);
    CHECK(w.overdue.size() == 1);
    CHECK_FALSE(w.own.next_timer());
  }

  TEST_CASE("it is overdue at the first time that was given, and may be expected again afterwards") {
    expecting w;
    CHECK(w.expect("/a", "x"));
    w.advance(500ms);
    CHECK_FALSE(w.expect("/a", "x"));
    w.advance(500ms);
    CHECK(w.overdue.size() == 1);
    CHECK(w.expect("/a", "x"));
  }

  TEST_CASE("one that has gone is not, and a list says so of all that it does not show") {
    expecting w;
    for (const auto* name : {"x", "y", "z"}) w.expect("/a", name);
    w.expect("/b", "x");
    w.all.gone("/a", "x");
    w.all.gone("/a", "never");
    w.all.gone("/c", "x");
    w.all.listed("/a", {"z", "other"});
    w.all.listed("/c", {});
    w.advance(1s);
    CHECK(w.overdue == std::vector<std::string>{"/a/z", "/b/x"});
  }

  TEST_CASE("all can be overdue at once") {
    expecting w;
    w.expect("/a", "x");
    w.expect("/a", "y");
    w.expect("/b", "x");
    w.all.wait_no_longer();
    CHECK(w.overdue.size() == 3);
    CHECK_FALSE(w.own.next_timer());
    w.all.wait_no_longer();
    CHECK(w.overdue.size() == 3);
  }
}

}  // namespace latchkey::detail
