// SPDX-License-Identifier: Apache-2.0
/// Opening and ending sessions. For requests and watches see session_requests.cpp.

#include "session/session.hpp"

#include <algorithm>
#include <system_error>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/log.hpp"

namespace latchkey::detail {
namespace {

using namespace std::chrono_literals;
using std::chrono::floor;
using std::chrono::milliseconds;

constexpr duration first_retry = 100ms;
constexpr duration slowest_retry = 5s;

/// Pauses between look-ups of the host names while there is no connection.
constexpr duration first_look_up = 100ms;
constexpr duration slowest_look_up = 10s;

/// Of a list of servers, in the log.
constexpr std::size_t most_said = 256;

}  // namespace

session::session(monitor& own, connector& opener, std::chrono::milliseconds timeout, session_listener& listener,
                 metrics& counts, duration least_timeout, std::size_t bytes_of_acl)
    : monitor_{own},
      connector_{opener},
      listener_{listener},
      counts_{counts},
      wanted_timeout_{timeout},
      least_timeout_{least_timeout},
      bytes_of_acl_{bytes_of_acl},
      size_question_{own, opener},
      jitter_{static_cast<std::minstd_rand::result_type>(own.now().time_since_epoch().count())},
      second_{own, opener} {}

void session::open() {
  ++epoch_;
  info_ = {};
  opened_at_ = monitor_.now();
  newest_before_ = newest_;
  turned_away_before_ = 0;
  silence_ = {};
  watched_ = false;
  moved_at_ = {};  // it is opened with what the names resolve to now
  connected_early_.reset();
  moved_early_.clear();
  ++opening_;
  try {
    connector_.open(epoch_, *this, without_);
  } catch (const std::system_error& failed) {  // the system has no more threads
    --opening_;
    failure_ = fmt::format("no thread could be started to connect ({})", failed.what());
    log(log_level::warning, "no session could be opened; trying again", {{"cause", failure_}});
    open_later();
  }
}

void session::open_later() {
  const auto wait = std::min(slowest_retry, first_retry * (1 << std::min(failures_, 10u)));
  ++failures_;
  const auto jitter = std::uniform_int_distribution<duration::rep>{0, wait.count() / 2}(jitter_);
  open_timer_ = monitor_.in(wait - duration{jitter}, [this] {
    open_timer_ = {};
    open();
  });
}

/// Name servers may have been slow: no lease is to be the shorter for it.
void session::on_opening(std::uint64_t epoch) {
  monitor_.run([&] {
    if (epoch == epoch_) opened_at_ = monitor_.now();
  });
}

void session::on_opened(std::uint64_t epoch, std::unique_ptr<znodes> opened, std::string failure) {
  monitor_.run([&] {
    --opening_;
    if (epoch != epoch_ || closing_) {
      if (opened) connector_.retire(std::move(opened), [] {});
      return;
    }
    const auto before = std::exchange(failure_, std::move(failure));
    if (!opened && failure_.empty() && foreign_.empty()) return end(session_end::timeout_refused);
    if (!opened) {
      if (!foreign_.empty()) without_.clear();  // a service of another kind may go
      if (!failure_.empty() && failure_ != before) {
        log(log_level::warning, "no session could be opened; trying again", {{"cause", failure_}});
      }
      return open_later();
    }
    handle_ = std::move(opened);
    if (!moved_early_.empty()) use_servers(std::exchange(moved_early_, {}));
    without_connection_since_ = monitor_.now();
    look_for_moved_hosts();
    if (const auto early = std::exchange(connected_early_, std::nullopt)) become_connected(*early);
  });
}

std::string session::failure() const {
  if (!failure_.empty() || foreign_.empty()) return failure_;
  return fmt::format("no ZooKeeper server answers at {}", fmt::join(foreign_, ", "));
}

void session::close(std::function<void()> on_closed) {
  closing_ = true;
  monitor_.cancel(open_timer_);
  monitor_.cancel(move_timer_);
  monitor_.cancel(overseer_);
  monitor_.cancel(held_timer_);
  size_question_.give_up();
  stop_looking_into_refusals();
  connected_ = false;
  answer_everything(reply_code::session_over);
  watches_.clear();
  if (!handle_) return void(monitor_.in(0ns, std::move(on_closed)));
  connector_.retire(std::move(handle_), [this, on_closed = std::move(on_closed)] { monitor_.run(on_closed); });
}

void session::on_connection(std::uint64_t epoch, connection_state state, session_info info) {
  monitor_.run([&] {
    if (epoch != epoch_ || closing_) return;
    switch (state) {
      case connection_state::connected:
        if (handle_) return become_connected(info);
        connected_early_ = info;
        return;
      case connection_state::disconnected:
        if (connected_early_ && connected_early_->is_plausible()) connected_early_.reset();  // else: leave_foreign
        return become_disconnected();
      case connection_state::expired:
        return end(session_end::expired);
      case connection_state::auth_failed:
        return end(session_end::auth_failed);
    }
  });
}

void session::become_connected(session_info info) {
  const auto epoch = epoch_;
  become_disconnected();                    // the C client may leave that event out
  if (epoch != epoch_ || closing_) return;  // it has ended, or a client that closes waited for no more than this
  if (!info.is_plausible()) return leave_foreign(std::move(info.server));
  const bool is_new = info_.id != info.id || !ever_connected_ || info_.timeout == 0ms;
  const bool says_timeout = info.timeout != wanted_timeout_ && (is_new || info.timeout != info_.timeout);
  // With a timeout that is too short for the servers' tick there are no leases.
  if (info.timeout < least_timeout_) return begin_elsewhere(std::move(info), is_new);
  // The servers' tick may have grown with it, and the leader may know the shorter one.
  if (!is_new && info.timeout > info_.timeout) return begin_with_longer_timeout(info.timeout);
  if (is_new) opened_at_ = std::max(opened_at_, info.asked_at);
  info_ = info;
  failures_ = 0;
  foreign_.clear();
  connected_ = true;
  ever_connected_ = true;
  answered_ = false;
  largest_lost_ = {};
  turned_away_before_ = handle_->turned_away();
  const bool wants_answer = silence_.suspected() || limit_.is_doubted();
  heard_at_ = monitor_.now();
  silence_.connected(heard_at_, watched_);
  if (wants_answer)
    submit(
        {.kind = operation::sync, .path = "/"}, [](reply&) {}, urgency::proof);
  monitor_.cancel(move_timer_);
  if (!silence_.suspected()) stop_looking_into_refusals();
  moved_at_ = {};
  if (says_timeout) say_timeout();
  listener_.on_connected(is_new);
}

void session::say_timeout() const {
  const auto given = info_.timeout;
  log(log_level::warning,
      given < wanted_timeout_
          ? fmt::format("the ensemble lowered the session timeout; ask for {} ms, or raise maxSessionTimeout of the "
                        "servers",
                        given.count())
          : fmt::format("the ensemble raised the session timeout, so a crashed holder keeps its locks for longer; ask "
                        "for {} ms, or lower minSessionTimeout of the servers",
                        given.count()),
      {{"wanted_ms", wanted_timeout_}, {"session_timeout_ms", given}});
}

void session::begin_with_longer_timeout(std::chrono::milliseconds given) {
  log(log_level::warning, "a server raised the session timeout at a reconnect; beginning a new session",
      {{"session_timeout_ms", info_.timeout}, {"granted_ms", given}});
  end(session_end::expired);
}

void session::become_disconnected() {
  if (!connected_) return;
  connected_ = false;
  throttled_until_ = {};
  const bool hopeless = silence_.disconnected(monitor_.now(), info_.timeout);
  // What was answered has been delivered before this event; the rest has no answer any more.
  answer_everything(reply_code::unknown_outcome);
  limit_.blame(largest_lost_, monitor_.now());
  ask_for_limit();
  without_connection_since_ = monitor_.now();
  turned_away_before_ = handle_ ? handle_->turned_away() : 0;
  look_for_moved_hosts();
  if (!refusal_timer_ || silence_.connections() == enough_refusals) look_into_refusals();
  listener_.on_disconnected();
  if (hopeless) give_up();
}

/// First after a moment, in which a client goes over to another server that it knows; then again and again, the seldomer
/// the longer it lasts.
void session::look_for_moved_hosts() {
  monitor_.cancel(move_timer_);
  const auto lasted = monitor_.now() - without_connection_since_;
  move_timer_ = monitor_.in(std::clamp(lasted / 2, first_look_up, slowest_look_up), [this] {
    move_timer_ = {};
    if (stays_without_servers()) {
      log(log_level::warning, "no server has answered for longer than the session timeout; beginning a new session");
      return end(session_end::expired);
    }
    try {
      connector_.look_for_moved_hosts();
    } catch (const std::system_error& failed) {
      log(log_level::warning, "no thread could be started to resolve the host names; trying again later",
          {{"cause", failed.what()}});
    }
    look_for_moved_hosts();
  });
}

/// @returns whether a new session is needed to get to servers: this one does without some of them, or those that it has
/// been given are down, or its handle does not take them. If servers turn it away, `look_into_refusals` finds out why.
bool session::stays_without_servers() const {
  const auto timeout = std::max(wanted_timeout_, duration{info_.timeout});
  const auto end = monitor_.now() - timeout - timeout / 2;
  if (without_connection_since_ > end) return false;
  return !without_.empty() || (moved_at_ != time_point{} && moved_at_ <= end && !is_turned_away());
}

void session::on_moved(std::uint64_t epoch, const std::string& servers) {
  monitor_.run([&] {
    if (epoch != epoch_ || closing_) return;
    if (!handle_) return void(moved_early_ = servers);
    use_servers(servers);
  });
}

void session::use_servers(const std::string& servers) {
  log(log_level::info, "the host names resolve to other servers now; trying those",
      {{"servers", servers.substr(0, most_said)}});
  moved_at_ = monitor_.now();
  handle_->use_servers(servers);
}

void session::end(session_end why, std::vector<std::string> without) {
  connected_ = false;
  without_ = std::move(without);
  if (why == session_end::timeout_refused) info_.timeout = given_;
  monitor_.cancel(move_timer_);
  ++epoch_;  // nothing more is heard of it; if we have yet to hear that it was opened, it will be retired then
  stop_looking_into_refusals();
  if (why == session_end::data_lost) newest_ = 0;
  if (handle_) connector_.retire(std::move(handle_), [] {});
  answer_everything(reply_code::session_over);
  watches_.clear();
  if (listener_.on_session_over(why) && !closing_) open();
}

}  // namespace latchkey::detail
