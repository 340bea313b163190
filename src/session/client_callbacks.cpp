// SPDX-License-Identifier: Apache-2.0
/// What a client tells its user, by callbacks.

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "base/log.hpp"
#include "session/client_core.hpp"

namespace latchkey::detail {
namespace {

void blame(const client_event& event, const char* what) noexcept {
  log(log_level::error,
      "the observer of the client threw an exception, which ends the process; catch it in client_options::observer",
      {{"event", to_string(event.what)}, {"path", event.path}, {"exception", what}});
}

void blame(const trace_span& span, const char* what) noexcept {
  log(log_level::error,
      "the trace of the client threw an exception, which ends the process; catch it in client_options::trace",
      {{"span", to_string(span.what)}, {"path", span.path}, {"exception", what}});
}

}  // namespace

void client_core::tell(client_event event) {
  if (!options_.observer) return;
  post(
      [observer = options_.observer, event = std::move(event)] {
        call_user([&] { observer(event); }, [&](const char* what) { blame(event, what); });
      },
      "client_options::observer", when_abandoned::drop);
}

void client_core::tell_trace(trace_span span) {
  post([trace = options_.trace,
        span = std::move(span)] { call_user([&] { trace(span); }, [&](const char* what) { blame(span, what); }); },
       "client_options::trace", when_abandoned::drop);
}

void client_core::post(std::function<void()> callback, const char* name, when_abandoned what) {
  events_.post(std::move(callback), what, name);
  if (timers_ && !slow_timer_ && !closed_) watch_callbacks(events_.now(), {});
}

/// Looks several times in T/4, for as long as callbacks are due.
/// @param seen the callback that was the present one at the last look, for `ran` at least
void client_core::watch_callbacks(event_thread::running seen, duration ran) {
  const duration longest = std::max<std::chrono::milliseconds>(session_.info().timeout, options_.session_timeout) / 4;
  const auto step = longest / 4;
  slow_timer_ = monitor_->in(step, [this, seen, ran = ran + step, step, longest] {
    slow_timer_ = {};
    const auto now = events_.now();
    if (now.number == 0) return;
    if (now.number != seen.number) return watch_callbacks(now, {});
    if (ran >= longest && ran - step < longest) {
      log(log_level::warning,
          fmt::format("{} has been running for long, and delays all callbacks: those of the stop tokens of lost locks, "
                      "too; return from it at once, and work on another thread",
                      now.name),
          {{"running_ms", ran}});
    }
    watch_callbacks(now, ran);
  });
}

}  // namespace latchkey::detail
