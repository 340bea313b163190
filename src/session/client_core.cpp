// SPDX-License-Identifier: Apache-2.0
#include "session/client_core.hpp"

#include <exception>
#include <utility>

#include <fmt/format.h>

#include "base/log.hpp"

namespace latchkey::detail {
namespace {

session_timing timing_of(const client_options& options) {
  return {.timeout = options.session_timeout,
          .server_tick = options.server_tick,
          .trusts_network = !options.keep_lease_ready};
}

std::string describe_refusal(const client_options& options, std::chrono::milliseconds given) {
  if (given > options.session_timeout) {
    return fmt::format("the session timeout of {} ms is below the ensemble's minimum of {} ms; ask for at least that",
                       options.session_timeout.count(), given.count());
  }
  return fmt::format(
      "the ensemble grants a session timeout of at most {} ms, but a lease needs at least {} ms on servers with a "
      "tickTime of {} ms; raise maxSessionTimeout of the servers",
      given.count(),
      std::chrono::ceil<std::chrono::milliseconds>(session_timing::shortest(options.server_tick)).count(),
      options.server_tick.count());
}

void blame_observer(const client_event& event, const char* what) noexcept {
  log(log_level::error,
      fmt::format("the observer of the client threw an exception at the event \"{}\"{}{} ({}), which ends the process; "
                  "catch it in client_options::observer",
                  to_string(event.what), event.path.empty() ? "" : " of ", event.path, what));
}

/// Says whose the exception was that ends the process.
void call(const std::function<void(const client_event&)>& observer, const client_event& event) {
  try {
    observer(event);
  } catch (const std::exception& thrown) {
    blame_observer(event, thrown.what());
    throw;
  } catch (...) {
    blame_observer(event, "not a std::exception");
    throw;
  }
}

}  // namespace

client_core::client_core(client_options options, std::string chroot, std::shared_ptr<detail::monitor> own,
                         std::unique_ptr<connector> opener)
    : options_{std::move(options)},
      chroot_{std::move(chroot)},
      monitor_{std::move(own)},
      connector_{std::move(opener)},
      session_{*monitor_, *connector_, options_.session_timeout, *this, session_timing::shortest(options_.server_tick)},
      reaper_{*monitor_, session_},
      keeper_{*monitor_, session_, timing_of(options_)},
      own_nodes_{*monitor_, session_} {
  reaper_.when_refused([this](const std::string& node) {
    for_each_observer([&](session_observer& observer) { observer.on_deletion_refused(node); });
  });
}

client_core::~client_core() {
  connector_.reset();  // waits for the threads that call us
  stop_threads();
}

void client_core::stop_threads() {
  std::call_once(stopped_, [this] {
    if (timers_) timers_->stop();
    events_.stop();
  });
}

std::uint64_t client_core::add_observer(session_observer& observer) {
  observers_.emplace(++last_observer_, &observer);
  return last_observer_;
}

/// Observers may come and go meanwhile; those that come are not called.
template <class Callable>
void client_core::for_each_observer(Callable what) {
  const auto last = last_observer_;
  for (auto at = observers_.begin(); at != observers_.end() && at->first <= last;) {
    const auto number = at->first;
    what(*at->second);
    at = observers_.upper_bound(number);
  }
}

void client_core::on_connected(bool new_session) {
  // The order is the order on the wire: first what is to be deleted (but for what is gathered), then proofs, then who
  // queues, then what nobody waits for.
  reaper_.on_connected();
  keeper_.on_connected(new_session ? std::optional{session_.opened_at()} : std::nullopt);
  tell({client_event::kind::connected, {}, {}});
  for_each_observer([](session_observer& observer) { observer.on_connected(); });
  own_nodes_.on_connected();
  run_connecting();
}

void client_core::on_disconnected() {
  keeper_.on_disconnected();
  tell({client_event::kind::disconnected, {}, {}});
  if (options_.when_lost == loss_policy::at_disconnection) keeper_.lose_all(loss_reason::deadline_passed);
}

void client_core::on_session_over(session_end why) {
  keeper_.stop();
  switch (why) {
    case session_end::expired:
      keeper_.lose_all(loss_reason::session_expired);
      tell({client_event::kind::session_expired, {}, {}});
      for_each_observer([](session_observer& observer) { observer.on_session_over(); });
      break;
    case session_end::auth_failed:
      fail({errc::authentication_failed,
            "the ensemble does not accept the credentials (ZAUTHFAILED); check client_options::authentication",
            {}},
           loss_reason::access_revoked);
      break;
    case session_end::timeout_refused:
      fail({errc::session_timeout_refused, describe_refusal(options_, session_.info().timeout), {}},
           loss_reason::session_expired);
  }
  reaper_.on_session_over();  // last: what has ended with the session has been handed to it
  on_idle();
}

void client_core::fail(failure why, loss_reason for_grants) {
  if (failed_) return;
  failed_ = std::move(why);
  keeper_.lose_all(for_grants);
  for_each_observer([this](session_observer& observer) { observer.on_failure(*failed_); });
  run_connecting();
}

void client_core::run_connecting() {
  for (const auto& [number, what] : std::exchange(connecting_, {})) what();
}

void client_core::close(std::function<void()> on_closed) {
  if (closed_) return on_closed();
  on_closed_.push_back(std::move(on_closed));
  if (std::exchange(closing_, true)) return;
  failed_.reset();  // from now on the reason is this one
  fail({errc::closed, "the client was closed or destroyed; make a new one", {}}, loss_reason::client_closed);
  keeper_.stop();
  close_timer_ = monitor_->in(options_.close_timeout, [this] {
    close_timer_ = {};
    close_session();
  });
  on_idle();
}

/// The session may be closed once nothing is left to delete, and nothing in flight that could leave a node behind.
void client_core::on_idle() {
  if (closing_ && close_timer_ && reaper_.idle() && session_.idle()) close_session();
}

void client_core::close_session() {
  monitor_->cancel(close_timer_);
  keeper_.stop();
  session_.close([this] {
    closed_ = true;
    connector_->forget_credentials();
    reaper_.on_session_over();  // what could not be done in time, and those who wait to hear of it
    tell({client_event::kind::closed, {}, {}});
    for (const auto& each : std::exchange(on_closed_, {})) each();
  });
}

void client_core::tell(client_event event) {
  if (!options_.observer) return;
  post_if_open([observer = options_.observer, event = std::move(event)] { call(observer, event); });
}

}  // namespace latchkey::detail
