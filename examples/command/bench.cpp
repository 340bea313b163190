// SPDX-License-Identifier: Apache-2.0
// `latchkey bench`: how fast locks are with these servers, beside a bare round trip.
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <exception>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <latchkey/fair_mutex.hpp>
#include <latchkey/transaction.hpp>

#include "answer_times.hpp"
#include "commands.hpp"
#include "show.hpp"

namespace command {
namespace {

using namespace std::chrono_literals;
using clock = std::chrono::steady_clock;
using milliseconds_of = std::chrono::duration<double, std::milli>;

constexpr std::size_t sessions_together = 8;
constexpr std::size_t round_trips = 100;

double in_ms(std::chrono::nanoseconds time) { return milliseconds_of{time}.count(); }

struct rate {
  double per_second = 0;
  std::vector<std::chrono::nanoseconds> hand_overs;  ///< from one caller's release to the next one's grant
};

/// Each client takes the lock, and releases it, again and again.
rate cycles_of(const std::vector<latchkey::client*>& clients, const std::string& path, std::chrono::milliseconds time) {
  std::mutex guard;
  rate found;
  std::exception_ptr failed;
  std::atomic<std::size_t> cycles = 0;
  std::atomic<clock::rep> released_at = 0;
  std::atomic<const latchkey::client*> released_by = nullptr;
  const auto begun = clock::now();
  const auto work = [&](latchkey::client& through) {
    std::vector<std::chrono::nanoseconds> mine;
    try {
      latchkey::fair_mutex lock{through, path};
      while (clock::now() - begun < time) {
        const auto held = lock.acquire();
        const clock::duration since{clock::now().time_since_epoch().count() - released_at};
        if (released_by != nullptr && released_by != &through) mine.push_back(since);
        ++cycles;
        released_by = &through;
        released_at = clock::now().time_since_epoch().count();
      }
    } catch (...) {
      const std::lock_guard lock{guard};
      failed = std::current_exception();
    }
    const std::lock_guard lock{guard};
    found.hand_overs.insert(found.hand_overs.end(), mine.begin(), mine.end());
  };
  {
    std::vector<std::jthread> threads;
    for (auto* const each : clients) threads.emplace_back([&work, each] { work(*each); });
  }
  if (failed) std::rethrow_exception(failed);
  found.per_second = static_cast<double>(cycles) / std::chrono::duration<double>(clock::now() - begun).count();
  return found;
}

}  // namespace

exit_code bench(const context& with, const settings& connection, const std::string& below,
                std::chrono::milliseconds each) {
  const auto path = fmt::format("{}/latchkey-bench-{}-{}", below == "/" ? "" : below, host_name(), ::getpid());
  const answer_times trips{
      time_of_each([&] { latchkey::read(with.client, "/", with.time.again().left()); }, round_trips, round_trips, 0s)};
  std::vector<std::unique_ptr<latchkey::client>> own;
  std::vector<latchkey::client*> clients;
  for (std::size_t i = 0; i < sessions_together; ++i) {
    own.push_back(connect(connection, with.time.again(), purpose::hold));
    clients.push_back(own.back().get());
  }
  const auto alone = cycles_of({clients.front()}, path, each);
  const auto together = cycles_of(clients, path, each);

  const answer_times hand_overs{together.hand_overs};
  const auto trip = in_ms(trips.median);
  const auto in_trips = [&](double per_second) { return per_second > 0 ? 1000 / per_second / trip : 0; };
  if (with.json) {
    const nlohmann::ordered_json object{{"round_trip_ms", trip},
                                        {"round_trip_p99_ms", in_ms(trips.p99)},
                                        {"one_session_per_second", alone.per_second},
                                        {"eight_sessions_per_second", together.per_second},
                                        {"hand_over_ms", in_ms(hand_overs.median)},
                                        {"hand_over_p99_ms", in_ms(hand_overs.p99)}};
    with.out << object.dump() << '\n';
  } else {
    with.out << fmt::format(
        "round trip:  median {:.2f}ms, p99 {:.2f}ms\n"
        "1 session:   {:.0f} cycles a second, {:.1f} round trips each\n"
        "8 sessions:  {:.0f} cycles a second, {:.1f} round trips each; hand-over median {:.2f}ms, p99 {:.2f}ms\n",
        trip, in_ms(trips.p99), alone.per_second, in_trips(alone.per_second), together.per_second,
        in_trips(together.per_second), in_ms(hand_overs.median), in_ms(hand_overs.p99));
  }
  return exit_code::yes;
}

}  // namespace command
