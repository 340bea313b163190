// SPDX-License-Identifier: Apache-2.0
#include "run_waiting.hpp"

#include <atomic>
#include <chrono>
#include <csignal>
#include <exception>
#include <optional>
#include <stdexcept>
#include <stop_token>
#include <thread>

#include <fmt/format.h>

#include <latchkey/error.hpp>
#include <latchkey/queue_snapshot.hpp>
#include <latchkey/robust_mutex.hpp>

#include "exit_code.hpp"
#include "show.hpp"

namespace command {
namespace {

using namespace std::chrono_literals;
using nanoseconds = std::chrono::nanoseconds;

/// Of what a manager of services is told meanwhile.
constexpr std::chrono::milliseconds first_state = 200ms;
constexpr std::chrono::milliseconds between_states = 5s;

void tell_place(latchkey::client& through, const std::string& path, const service_manager& manager) try {
  const latchkey::queue_snapshot queue{through, path, between_states, 0};
  manager.tell(fmt::format("STATUS=waits for {}, {} in the queue", printable(path),
                           queue.holder_count() + queue.waiter_count()));
} catch (const latchkey::error& unknown) {
  manager.tell(fmt::format("STATUS=waits for {}: {}", printable(path), printable(unknown.what())));
}

}  // namespace

void take_lock(const settings& with, const run_options& how, run_loop& loop, const service_manager& manager,
               taken_lock& into) {
  std::stop_source give_up;
  std::exception_ptr failed;
  std::atomic<bool> waits{false};
  std::atomic<bool> over{false};
  const auto most = how.try_once ? std::optional<nanoseconds>{0ns}
                    : how.wait   ? std::optional<nanoseconds>{*how.wait}
                                 : std::nullopt;
  std::thread taking{[&] {
    try {
      into.client = connect(with, budget{with.timeout}, purpose::hold, [&] { return give_up.stop_requested(); });
      into.lock = make_lock(*into.client, how);
      waits = true;
      if (!give_up.stop_requested()) into.held = into.lock.take(most, give_up.get_token());
    } catch (...) {
      failed = std::current_exception();
    }
    over = true;
    loop.wakes().wake();
  }};
  auto next_state = manager.is_there() ? boottime_clock::now() + first_state : end_of_time;
  while (!over) {
    loop.await(next_state);
    if (!over && boottime_clock::now() >= next_state) {
      if (waits) tell_place(*into.client, how.paths.front(), manager);
      next_state = boottime_clock::now() + between_states;
    }
    if (loop.guard_gone() || (loop.signal() != 0 && loop.signal() != SIGWINCH)) give_up.request_stop();
  }
  taking.join();
  if (loop.guard_gone()) throw std::runtime_error{"the guard of the command was ended"};
  if (loop.signal() == SIGWINCH) loop.take_signal();
  if (loop.signal() != 0) return into.held.release();
  if (failed) std::rethrow_exception(failed);
}

std::string who_holds(latchkey::client& through, const run_options& how) try {
  std::string of_first;
  for (const auto& each : how.paths) {
    const latchkey::queue_snapshot queue{through, each, 2s};
    if (queue.holder_count() != 0) return to_string(queue);
    if (of_first.empty()) of_first = to_string(queue);
  }
  const bool is_delayed = how.robust && latchkey::abandoned_at(through, how.paths.front(), 2s);
  return of_first + (is_delayed ? "; it is kept for the lock delay of an owner that has not ended well" : "");
} catch (const latchkey::error& unknown) {
  if (errc_of(unknown) == latchkey::errc::unreachable) throw;
  return text_of(unknown);
}

}  // namespace command
