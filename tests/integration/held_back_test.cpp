// SPDX-License-Identifier: Apache-2.0
/// Attacks on the lease: a network that holds packets back without losing a connection, and then the cut, at the
/// moments when the leader knows least about the session of the holder.

#include <chrono>
#include <utility>

#include <doctest/doctest.h>

#include "support/disputed_lock.hpp"

namespace latchkey::testing {
namespace {

using clock = std::chrono::steady_clock;  // by which the servers expire sessions, at whole ticks

std::chrono::nanoseconds tick() { return servers().options().tick; }

/// @returns a moment when the leader pinged its followers: it does so every half tick, if nothing else is to be sent.
clock::time_point some_ping(std::size_t follower) {
  const auto last = [&] { return servers().last_passed(follower, direction::incoming); };
  auto before = last();
  REQUIRE(eventually([&] {
    const auto now = last();
    if (now == before) return false;
    const auto gap = now - std::exchange(before, now);
    return gap > tick() / 2 - 8ms && gap < tick() / 2 + 8ms;
  }));
  return before;
}

/// The moments after which the leader ends a session soonest: a session that it hears of with one of these pings ends
/// right at the end of its timeout, which it rounds up to a tick otherwise.
class worst_pings {
 public:
  explicit worst_pings(std::size_t follower) : ping_{some_ping(follower)} {
    const auto phase = (ping_.time_since_epoch() + early) % (tick() / 2);
    timeout_ = std::chrono::floor<std::chrono::milliseconds>(2 * tick() + tick() / 2 - phase);
    const auto rest = (ping_.time_since_epoch() + timeout_ + early) % tick();
    if (rest > tick() / 4 && rest < tick() * 3 / 4) ping_ += tick() / 2;
  }
  /// At least two ticks, the least that the servers grant: a half tick is then as long as it can be.
  std::chrono::milliseconds timeout() const { return timeout_; }

  /// @returns the first one after `from`.
  clock::time_point after(clock::time_point from) const {
    const auto ticks = (from - ping_) / tick() + (from < ping_ ? 0 : 1);
    return ping_ + ticks * tick();
  }
  clock::time_point before(clock::time_point from) const { return after(from) - tick(); }

 private:
  static constexpr std::chrono::nanoseconds early = 8ms;  // before the tick, to be heard of in time
  clock::time_point ping_;
  std::chrono::milliseconds timeout_{};
};

void await(clock::time_point time) {
  while (clock::now() < time) pause();
}

std::int64_t newest_write(std::size_t leader) { return servers().admin(leader).srvr().zxid; }

/// The servers of one attack.
struct target {
  std::size_t index;
  const roles now = everybody_serves();
  const std::size_t leader = now.leader;
  const std::size_t follower = now.followers[index % 2];
  const worst_pings pings{follower};
  const std::chrono::milliseconds timeout = pings.timeout();
  proxy net{{servers().address(follower)}};
};

class attack : public target, public disputed_lock {
 public:
  explicit attack(int i)
      : target{static_cast<std::size_t>(i)}, disputed_lock{net.connect_string(), leader, quick(timeout)} {}
  ~attack() {
    servers().heal();
    servers().wait_until_serving(follower, patience());
  }

  round finish(bool met_a_holder) {
    const auto what = disputed_lock::finish(met_a_holder);
    net.heal();
    return what;
  }
};

/// Waits until what the follower has sent is written, if it sends anything; then lets it know, but lets nothing more
/// that it says be heard.
void release_and_cut_off(const attack& one, std::int64_t written) {
  const auto patience_ends = clock::now() + one.timeout * 3 / 8;
  REQUIRE(eventually([&] { return newest_write(one.leader) > written || clock::now() > patience_ends; }));
  servers().hold_back(one.follower, direction::outgoing);
  servers().release(one.follower, direction::incoming);
}

/// Now that a proof has arrived, the leader hears of no session of the follower until the next one has been written.
round hold_back_between_proofs(attack& one) {
  servers().hold_back(one.follower, direction::incoming);
  const auto until = one.before.valid_until();
  one.is_waited_for();
  release_and_cut_off(one, newest_write(one.leader));
  const bool met_a_holder{one.before};  // a lock that was lost before passes on at once, as it is released
  one.extended(until);
  one.net.black_hole();
  return one.finish(met_a_holder);
}

}  // namespace

TEST_SUITE("held back") {
  TEST_CASE("packets to the follower are held back after the first proof of a grant, then it is cut off") {
    const auto all = in_rounds([](int i) -> std::optional<round> {
      attack one{i};
      // Right before the next ping: the leader knows of what was before the worst one.
      await(one.pings.after(clock::now()) + tick() / 2 - 70ms);
      one.lock();
      return hold_back_between_proofs(one);
    });
    all.report("held back to the follower, first proof");
  }

  TEST_CASE("packets to the follower are held back after a later proof of a grant, then it is cut off") {
    const auto all = in_rounds([](int i) -> std::optional<round> {
      attack one{i};
      one.lock();
      bool held = true;
      for (int proofs = 0; held && proofs < 16; ++proofs) {
        held = one.extended(one.before.valid_until());
        const auto now = clock::now();
        const auto since = now - one.pings.before(now);
        if (proofs > 4 && since > tick() / 2 - 120ms && since < tick() / 2 - 20ms) break;
      }
      return hold_back_between_proofs(one);
    });
    all.report("held back to the follower, later proof");
  }

  TEST_CASE("packets to the follower are held back while a lock is taken, then it is cut off") {
    const auto all = in_rounds([](int i) -> std::optional<round> {
      attack one{i};
      const auto ping = one.pings.after(clock::now());
      await(ping + 10ms);
      servers().hold_back(one.follower, direction::incoming);
      await(ping + one.timeout * (80 + i % 10) / 100);
      const auto written = newest_write(one.leader);
      on_threads meanwhile;
      meanwhile.start([&] { release_and_cut_off(one, written); });
      const bool granted = one.try_lock_for(one.timeout * 2);
      one.net.black_hole();
      meanwhile.join();
      if (!granted) return {};  // rightly so: nothing is known of the leader
      const bool met_a_holder{one.before};
      one.let_wait();
      return one.finish(met_a_holder);
    });
    if (all.rounds > 0) all.report("held back to the follower, before the grant");
  }

  TEST_CASE("packets of the client are held back before its grant, then it and its server are cut off") {
    const auto all = in_rounds([](int i) -> std::optional<round> {
      attack one{i};
      // The client sends a sync every T/6 while it is idle, and leaves a server that is silent for 2/3 T.
      const auto syncs = one.net.requests(opcode::sync);
      REQUIRE(one.net.wait_for_request(opcode::sync, syncs + 2, patience()));
      await(clock::now() + 10ms);
      one.net.black_hole();
      await(clock::now() + one.timeout * (50 + i % 12) / 100);
      one.net.heal();
      one.lock();
      servers().isolate(one.follower);
      one.net.black_hole();
      const bool met_a_holder{one.before};
      one.let_wait();
      return one.finish(met_a_holder);
    });
    all.report("held back from the client");
  }
}

}  // namespace latchkey::testing
