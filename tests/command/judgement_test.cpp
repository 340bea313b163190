// SPDX-License-Identifier: Apache-2.0
/// What `latchkey doctor` makes of what it has seen.

#include <doctest/doctest.h>

#include <chrono>
#include <string>
#include <vector>

#include "doctor.hpp"

namespace command {
namespace {

using namespace std::chrono_literals;
using times = std::vector<std::chrono::nanoseconds>;

}  // namespace

TEST_SUITE("judgement") {
  TEST_CASE("answers are fine up to T/24, and a failure above T/12") {
    CHECK(judge_round_trips("zk1", times{2ms, 1ms, 3ms}, 10s).text == "round trip: median 2.00ms, p99 3.00ms");
    CHECK(judge_round_trips("zk1", times{416ms}, 10s).how == verdict::fine);
    CHECK(judge_round_trips("zk1", times{1ms, 417ms}, 10s).how == verdict::warning);
    CHECK(judge_round_trips("zk1", times{1ms, 833ms}, 10s).how == verdict::warning);
    const auto late = judge_round_trips("zk1", times{1ms, 834ms}, 10s);
    CHECK(late.how == verdict::failure);
    CHECK(late.about == "server zk1");
    CHECK(judge_quorum(times{625ms}, 10s).how == verdict::fine);
    CHECK(judge_quorum(times{626ms}, 10s).how == verdict::warning);
  }

  TEST_CASE("one answer of a hundred may be late") {
    times all(199, 1ms);
    all.push_back(5s);
    CHECK(judge_round_trips("zk1", all, 10s).how == verdict::fine);
    all.insert(all.end(), 3, 5s);
    CHECK(judge_round_trips("zk1", all, 10s).how == verdict::failure);
  }

  TEST_CASE("session timeouts that are granted, or not") {
    CHECK(judge_limits("zk1", {4s, 40s}, 10s, 2s).how == verdict::fine);
    CHECK(judge_limits("zk1", {4s, 40s}, 10s, 0s).how == verdict::fine);
    CHECK(judge_limits("zk1", {4s, 40s}, 3s, 0s).text ==
          "session timeouts from 4.0s to 40.0s; T = 3.0s is raised to 4.0s");
    CHECK(judge_limits("zk1", {4s, 40s}, 60s, 0s).how == verdict::warning);
    CHECK(judge_limits("zk1", {1s, 40s}, 10s, 2s).how == verdict::warning);
    CHECK(judge_agreement({{4s, 40s}, {4s, 40s}}).how == verdict::fine);
    CHECK(judge_agreement({{4s, 40s}, {4s, 60s}}).how == verdict::warning);
  }

  TEST_CASE("the lease is in numbers, and T of five ticks is enough") {
    const auto good = judge_lease(10s, 2s);
    CHECK(good.how == verdict::fine);
    CHECK(good.text ==
          "T = 10.0s: a lease lasts 9.2s, and is proved every 2.5s; a network that freezes for 3.0s is survived by a "
          "lock, and for 500ms by a command of run, for longer with a shorter --grace; the lock of a holder that "
          "crashes is "
          "free 10.0s to 12.0s later; --grace may be 2.1s");
    CHECK(judge_lease(9999ms, 2s).how == verdict::warning);
  }

  TEST_CASE("a clock that is wrong, not synchronised or corrected by too much") {
    CHECK(judge_clock({}, 1s).how == verdict::fine);
    CHECK(judge_clock({}, -1s).how == verdict::fine);
    CHECK(judge_clock({}, 1001ms).text.starts_with("1.0s ahead of that of the leader"));
    CHECK(judge_clock({}, -3s).text.starts_with("3.0s behind that of the leader"));
    CHECK(judge_clock({}, std::nullopt).text == "synchronised");  // what is not known agrees with nothing
    CHECK(judge_clock({.synchronised = false}, 0s).text.starts_with("not synchronised"));
    CHECK(judge_clock({.correction = 449}, 0s).how == verdict::fine);
    CHECK(judge_clock({.correction = -450}, 0s).how == verdict::warning);
    CHECK(judge_clock({.known = false, .synchronised = false, .correction = 500}, 0s).how == verdict::fine);
    CHECK(judge_clock({.synchronised = false}, 2s).text.find("; not synchronised") != std::string::npos);
  }

  TEST_CASE("the clock of this host is read") { CHECK(std::abs(read_clock().correction) <= 500); }

  TEST_CASE("what is open to anyone is a warning") {
    CHECK(judge_access("/locks", "").how == verdict::fine);
    CHECK(judge_access("/locks", "r").text.starts_with("/locks: r is open to anyone"));
  }

  TEST_CASE("a finding is a line, whatever a server's name says") {
    const finding what{verdict::warning, "server \x1b[2J", "a\nb"};
    CHECK(text_of(what) == "warning  server \\x1b[2J: a\\x0ab\n");
    CHECK(json_of(what) == "{\"verdict\":\"warning\",\"about\":\"server \\u001b[2J\",\"text\":\"a\\nb\"}\n");
    CHECK(text_of({verdict::fine, "a", "b"}) == "ok       a: b\n");
    CHECK(text_of({verdict::failure, "a", "b"}) == "failure  a: b\n");
  }
}

}  // namespace command
