// SPDX-License-Identifier: Apache-2.0
#include "session/client_core.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "base/log.hpp"
#include "bridge/client_log.hpp"
#include "session/transaction_size.hpp"

namespace latchkey::detail {
namespace {

std::chrono::milliseconds to_ms(duration time) { return std::chrono::floor<std::chrono::milliseconds>(time); }

session_timing timing_of(const client_options& options) {
  return {.timeout = options.session_timeout,
          .server_tick = options.server_tick,
          .trusts_network = !options.keep_lease_ready};
}

/// @returns the shortest session timeout of use.
duration least_timeout(const client_options& options) { return session_timing::shortest(options.server_tick); }

std::string describe_refusal(const client_options& options, std::chrono::milliseconds given) {
  return fmt::format(
      "the ensemble grants a session timeout of at most {} ms, but a lease needs at least {} ms on servers with a "
      "tickTime of {} ms; raise maxSessionTimeout of the servers",
      given.count(), std::chrono::ceil<std::chrono::milliseconds>(least_timeout(options)).count(),
      options.server_tick.count());
}

}  // namespace

client_core::client_core(client_options options, const connect_string& servers, std::shared_ptr<detail::monitor> own,
                         std::unique_ptr<connector> opener, std::unique_ptr<datagram_port> port,
                         std::optional<session_file> records)
    : options_{std::move(options)},
      chroot_{servers.chroot},
      monitor_{std::move(own)},
      connector_{std::move(opener)},
      session_{*monitor_,
               *connector_,
               options_.session_timeout,
               *this,
               metrics_,
               least_timeout(options_),
               bytes_of_acl(options_)},
      reaper_{*monitor_, session_},
      keeper_{*monitor_, session_, timing_of(options_), metrics_},
      own_nodes_{*monitor_, session_},
      open_parents_{session_, !options_.acl.empty()},
      outage_{*monitor_, servers.list(), options_.connect_timeout, [this](duration lasted) { report_outage(lasted); }},
      waiting_calls_{*monitor_, options_.report_waits_after},
      hosts_{servers.list()},
      records_{std::move(records)} {
  if (port) peers_.emplace(*monitor_, std::move(port));
  reaper_.when_reassessed([this](const std::string& node) { reassess(node); });
}

void client_core::reassess(const std::string& node) {
  for_each_observer([&](session_observer& observer) { observer.on_reassessed(node); });
}

client_core::~client_core() {
  for (auto& each : left_) each.own.reset();
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

void client_core::open(const connector_source& to_others) {
  if (records_) {
    for (const auto& each : std::vector{records_->sessions()}) end_left_session(each, to_others);
  }
  outage_.begin(monitor_->now(), options_.connect_timeout);
  session_.open();
}

void client_core::on_connected(bool new_session) {
  ++metrics_.client.connections;
  if (new_session) ++metrics_.client.sessions;
  if (new_session) record_session();
  const auto outage = outage_.end();
  const auto& info = session_.info();
  connected_as_.set(info.id);
  const bool said = std::exchange(said_lost_, false) || outage;
  log(said ? log_level::warning : log_level::info,  // as its loss
      new_session ? "connected with a new session" : "connected again with the same session",
      {{"server", info.server},
       {"session", session_name(info.id)},
       {"session_timeout_ms", info.timeout},
       {"outage_ms", outage ? fmt::to_string(to_ms(*outage).count()) : std::string{}}});
  // The order is the order on the wire: first what is to be deleted (but for what is gathered), then proofs, then who
  // queues, then what no call waits for.
  if (peers_) peers_->on_connected(info.server);
  reaper_.on_connected();
  keeper_.on_connected(new_session ? std::optional{session_.opened_at()} : std::nullopt);
  tell({.what = client_event::kind::connected, .outage = to_ms(outage.value_or(duration{}))});
  for_each_observer([](session_observer& observer) { observer.on_connected(); });
  own_nodes_.on_connected();
  run_connecting();
}

void client_core::on_disconnected() {
  const auto& info = session_.info();
  connected_as_.set(0);
  ++metrics_.client.disconnections;
  begin_outage();
  if (const auto left_out = losses_.spend(monitor_->now())) {
    log(log_level::warning, "the connection was lost; connecting again",
        {{"server", info.server},
         {"session", session_name(info.id)},
         {"grants", keeper_.grants()},
         {"left_out", *left_out}});
    said_lost_ = true;
  }
  keeper_.on_disconnected();
  tell({.what = client_event::kind::disconnected});
  if (options_.when_lost == loss_policy::at_disconnection) keeper_.lose_all(loss_reason::deadline_passed);
  for_each_observer([](session_observer& observer) { observer.on_disconnected(); });
}

void client_core::end_session(loss_reason why) {
  ++metrics_.client.expirations;
  begin_outage();
  log(log_level::warning,
      keeper_.grants() == 0 ? "the session is over; beginning a new one"
                            : "the session is over, and its locks are lost; beginning a new one",
      {{"session", session_name(session_.info().id)}, {"reason", to_string(why)}, {"grants", keeper_.grants()}});
  said_lost_ = true;
  keeper_.lose_all(why);
  tell({.what = client_event::kind::session_expired});
  for_each_observer([](session_observer& observer) { observer.on_session_over(); });
}

bool client_core::on_session_over(session_end why) {
  connected_as_.set(0);
  record_end();
  keeper_.stop();
  switch (why) {
    case session_end::expired:
      end_session(loss_reason::session_expired);
      break;
    case session_end::data_lost:
      if (options_.go_on_after_data_loss) {
        end_session(loss_reason::data_lost);
      } else {
        fail({errc::data_lost,
              "the servers do not have what this client has seen: they have lost data, or are those of another "
              "ensemble, and their fencing tokens begin anew; reset the largest token that each resource has recorded, "
              "then make a new client (OPERATIONS.md, \"An ensemble has lost its data\")",
              {}},
             loss_reason::data_lost);
      }
      break;
    case session_end::auth_failed:
      fail({errc::authentication_failed,
            "the ensemble does not accept the credentials (ZAUTHFAILED -115); check client_options::authentication",
            {}},
           loss_reason::access_revoked);
      break;
    case session_end::authentication_demanded:
      fail(
          {errc::authentication_failed,
           "the servers demand authentication that this client has not given (ZSESSIONCLOSEDREQUIRESASLAUTH -124), and "
           "close its connections; set client_options::authentication to a scheme of their enforce.auth.schemes (the "
           "C client has no SASL here)",
           {}},
          loss_reason::access_revoked);
      break;
    case session_end::timeout_refused:
      fail({errc::session_timeout_refused, describe_refusal(options_, session_.info().timeout), {}},
           loss_reason::session_expired);
  }
  reaper_.on_session_over();  // last: what has ended with the session has been handed to it
  on_idle();
  return !failed_;
}

void client_core::fail(failure why, loss_reason for_grants) {
  if (failed_) return;
  outage_.end();
  failed_ = std::move(why);
  keeper_.lose_all(for_grants);
  if (!closing_) log(log_level::error, "the client has failed, and so do its calls", {{"cause", failed_->what}});
  for_each_observer([this](session_observer& observer) { observer.on_failure(*failed_); });
  run_connecting();
}

std::uint64_t client_core::after_pause(duration pause, std::function<void()> what) {
  const auto number = when_connected(std::move(what));
  monitor_->in(pause, [this, number] {
    if (const auto due = connecting_.extract(number)) due.mapped()();
  });
  return number;
}

void client_core::run_connecting() {
  for (const auto& [number, what] : std::exchange(connecting_, {})) what();
}

void client_core::close(std::function<void()> on_closed) {
  if (closed_) return on_closed();
  on_closed_.push_back(std::move(on_closed));
  if (std::exchange(closing_, true)) return;
  failed_.reset();  // from now on the reason is this one
  if (peers_ && session_.connected()) peers_->departures().wait_no_longer();
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
  if (const auto owed = reaper_.owed(); owed != 0) {
    log(log_level::warning,
        "the client closes before its nodes are deleted; they are there until the session ends, and may keep others "
        "waiting",
        {{"nodes", owed},
         {"session", session_name(session_.info().id)},
         {"session_timeout_ms", session_.info().timeout}});
  }
  for (const auto& each : left_) each.ending->give_up();
  if (session_.connected()) record_end();  // otherwise the next run of this process ends it
  session_.close([this] {
    closed_ = true;
    connected_as_.set(0);
    records_.reset();
    waiting_calls_.stop();
    monitor_->cancel(slow_timer_);
    connector_->forget_credentials();
    reaper_.on_session_over();  // what could not be done in time, and those who wait to hear of it
    tell({.what = client_event::kind::closed});
    for (const auto& each : std::exchange(on_closed_, {})) each();
  });
}

client_metrics client_core::metrics() const {
  auto result = metrics_.snapshot(monitor_->now());
  result.unanswered = session_.unanswered();
  result.deletions_owed = reaper_.owed() + reaper_.refused().count();
  if (peers_) result.peers = peers_->counts();
  return result;
}

}  // namespace latchkey::detail
