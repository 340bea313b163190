// SPDX-License-Identifier: Apache-2.0
/// The last part of the tour: a read-write lock.

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <thread>

#include <latchkey/client.hpp>
#include <latchkey/queue_snapshot.hpp>

#include "script.hpp"

namespace tour {

using namespace std::chrono_literals;

namespace {

constexpr auto glance = 1'000ms;  // for those who watch

}  // namespace

void script::share_a_lock() {
  const std::array<const char*, 4> names{"r1", "r2", "x1", "r3"};
  say("starts four more processes, which share a read-write lock");
  for (const auto* name : names) start_worker(name, servers(), {"--obeys"});
  latchkey::client looker{servers()};

  order("r1", "read");
  order("r2", "read");
  expect_event("r1 reads", patience, is("r1", event_kind::reads));
  expect_event("r2 reads", patience, is("r2", event_kind::reads));
  order("x1", "write");
  expect_waiting(looker, 1);
  order("r3", "read");
  expect_waiting(looker, 2);
  say("r1 and r2 read together; x1 waits for both, r3 behind x1");
  pause(glance);

  order("r1", "unlock");
  order("r2", "unlock");
  const auto written = expect_event("x1 writes", patience, is("x1", event_kind::writes));
  pause(glance);
  order("x1", "downgrade");
  expect_event("x1 reads", patience, is("x1", event_kind::reads));
  const auto read = expect_event("r3 reads", patience, is("r3", event_kind::reads));
  if (read.at < written.at) fail("r3 came before x1, which was ahead of it");
  say("r3 is let in with x1, and none came between them");
  pause(glance);
  order("x1", "unlock");
  order("r3", "unlock");
  expect_event("x1 has done", patience, is("x1", event_kind::released));
  expect_event("r3 has done", patience, is("r3", event_kind::released));
  if (summarise(record_.events()).readers_at_once < 2) fail("no two readers have read together");
}

std::function<bool(const event&)> script::is(std::string who, event_kind kind) {
  return [who = std::move(who), kind](const event& what) { return what.who == who && what.kind == kind; };
}

void script::order(const std::string& name, const std::string& what) {
  const auto who =
      std::find_if(workers_.begin(), workers_.end(), [&](const auto& worker) { return worker->name() == name; });
  (*who)->send("do " + what);
}

/// What the queue says is what counts, not who has been told to wait.
void script::expect_waiting(latchkey::client& through, std::size_t count) {
  const auto end = clock::now() + patience;
  while (latchkey::queue_snapshot{through, "/latchkey-tour/read-write-lock"}.waiters().size() != count) {
    if (stop_.stop_requested()) throw give_up{};
    if (clock::now() > end) {
      fail(fmt::format("there are not {} waiting", count));
      throw give_up{};
    }
    std::this_thread::sleep_for(10ms);
  }
}

void script::pause(std::chrono::milliseconds time) {
  record_.wait_until(stop_, time, [](const events&) { return false; });
}

}  // namespace tour
