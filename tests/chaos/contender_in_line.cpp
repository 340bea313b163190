// SPDX-License-Identifier: Apache-2.0
/// A fair lock, taken with a ticket.

#include <fmt/format.h>

#include <boost/fiber/fiber.hpp>
#include <boost/fiber/operations.hpp>
#include <exception>
#include <stop_token>
#include <system_error>
#include <utility>

#include <latchkey/error.hpp>

#include "contender.hpp"

namespace chaos {

using namespace std::chrono_literals;

/// Waits with one ticket until it is served, or tired of it.
void contender::stand_in_line(int lock) {
  latchkey::ticket ticket;
  if (!queue(lock, [&] { ticket = under_test(lock).as_fair()->enqueue(); })) return;
  for (;;) {
    if (one_in(4)) boost::this_fiber::sleep_for(up_to(50ms));
    if (wait_in_some_manner(lock, ticket)) return;
    if (ticket.spent()) return tell(event_kind::left, lock, {}, "cancelled");
    const bool lost = ticket.place_lost();
    if (!lost && !one_in(3)) continue;
    if (one_in(2)) {
      tell(event_kind::left, lock, {}, lost ? "lost" : "given up");
      if (one_in(2)) ticket.cancel();
      return;  // destroyed, if not cancelled
    }
    tell(event_kind::left, lock, {}, lost ? "lost, queued again" : "queued again");
    if (!queue(lock, [&] { ticket.requeue(); })) return;
  }
}

/// @returns whether there is a place in line.
bool contender::queue(int lock, const std::function<void()>& take_place) {
  tell(event_kind::waits, lock, {}, "enqueue");
  try {
    take_place();
    tell(event_kind::queued, lock, {});
    return true;
  } catch (const std::exception& failure) {
    tell(event_kind::failed, lock, {}, fmt::format("enqueue: {}", failure.what()));
  }
  boost::this_fiber::sleep_for(100ms);
  return false;
}

/// @returns whether it was served; the lock is free again then.
bool contender::wait_in_some_manner(int lock, latchkey::ticket& ticket) {
  const auto manner = std::uniform_int_distribution{0, 99}(random_);
  if (manner < 40) return wait(lock, ticket, "lock", [&] { return ticket.wait(), true; });
  if (manner < 70) {
    const auto time = up_to(one_in(3) ? 2'000ms : 50ms);
    return wait(lock, ticket, fmt::format("for {}", time.count()), [&] { return ticket.wait_for(time); });
  }
  if (manner < 80) {  // only looks
    return wait(lock, ticket, "try", [&] { return ticket.ahead() == 0 && ticket.wait_for(0ms); });
  }
  std::stop_source source;
  boost::fibers::fiber canceller{[&, time = up_to(1'500ms), for_good = one_in(2)] {
    boost::this_fiber::sleep_for(time);
    for_good ? ticket.cancel() : void(source.request_stop());
  }};
  const bool served = wait(lock, ticket, "cancelled", [&] { return ticket.wait(source.get_token()); });
  canceller.join();
  return served;
}

bool contender::wait(int lock, latchkey::ticket& ticket, const std::string& manner, const std::function<bool()>& take) {
  tell(event_kind::waits, lock, {}, manner);
  bool taken = false;
  try {
    taken = take();
  } catch (const std::system_error& failure) {
    const bool lost = failure.code() == latchkey::errc::place_lost;
    const bool cancelled = failure.code() == std::errc::operation_not_permitted && ticket.spent();
    const bool outage = ended_by_outage(failure, manner);
    if (!lost && !cancelled && !outage)
      tell(event_kind::failed, lock, {}, fmt::format("with a ticket: {}", failure.what()));
  }
  if (taken) {
    hold(lock);
  } else {
    tell(event_kind::refused, lock, {});
  }
  return taken;
}

}  // namespace chaos
