// SPDX-License-Identifier: Apache-2.0
/// What servers refuse without an answer: requests, and the session.

#include <algorithm>

#include "base/log.hpp"
#include "session/session.hpp"

namespace latchkey::detail {
namespace {

using namespace std::chrono_literals;

/// Pauses between looks at servers that refuse the session.
constexpr duration refusal_look = 100ms;

/// Bytes of paths that are watched after a list of watches was too long, too.
constexpr std::size_t least_watched = 4096;

}  // namespace

// Requests that end the connection ----------

/// @returns whether it waits, and all of its urgency behind it: it may be what has ended the last connections.
bool session::is_held_back(const waiting& next) {
  if (suspects_.empty() || next.how == urgency::proof || next.is_stale()) return false;
  const auto until = suspects_.held_until(next.shape);
  if (until == time_point::min()) return false;
  if (monitor_.now() < until) {
    if (!held_timer_) {
      held_timer_ = monitor_.at(until, [this] {
        held_timer_ = {};
        if (connected_) send_waiting();
      });
    }
    return true;
  }
  return !silence_.heard();
}

/// @returns `ok` if it may be sent.
reply_code session::refusal_of(const waiting& next) {
  const auto connections = suspects_.empty() ? 0 : suspects_.refused_after(next.shape, monitor_.now());
  if (connections == 0 || next.how == urgency::proof) return reply_code::ok;
  const bool told = refused_after_ == connections && refused_bytes_ == next.shape.bytes;
  refused_after_ = connections;
  refused_bytes_ = next.shape.bytes;
  if (told) return reply_code::too_large;
  const auto& path = next.what.path.empty() && !next.what.steps.empty() ? next.what.steps.front().path : next.what.path;
  log(log_level::error,
      "a request is not sent any more, as each connection on which it was sent has ended; it is probably larger than "
      "jute.maxbuffer of the servers",
      {{"path", path}, {"bytes", refused_bytes_}, {"connections", connections}});
  return reply_code::too_large;
}

/// Soon after it was sent: a network that is down ends a connection after much longer.
void session::blame_for_end(const pending& request) {
  if (request.unsent != reply_code::ok || request.shape.bytes <= largest_lost_.bytes) return;
  if (monitor_.now() - request.sent > duration{info_.timeout} / 4) return;
  largest_lost_ = request.shape;
  largest_is_proof_ = request.how == urgency::proof;
}

// Sessions that are refused ----------

std::uint64_t session::turned_away() const { return handle_ ? handle_->turned_away() - turned_away_before_ : 0; }

bool session::is_turned_away() const { return turned_away() >= enough_refusals; }

bool session::is_unanswered() const { return silence_.connections() >= enough_refusals; }

/// Servers without the data that this session has seen close each of its connections before they let it in, for ever.
/// Those that demand authentication, or do not take the list of its watches, close each without an answer.
void session::look_into_refusals() {
  const duration timeout{info_.timeout};
  // A grant is to end with the true reason; but a session that is turned away may just have no server.
  const auto begin = is_unanswered() ? time_point{} : without_connection_since_ + timeout / 3;
  monitor_.cancel(refusal_timer_);
  refusal_timer_ = monitor_.at(std::max(begin, monitor_.now() + refusal_look), [this, timeout] {
    refusal_timer_ = {};
    if (is_turned_away() || is_unanswered()) {
      switch (second_.look(turned_away() + silence_.connections(), timeout / 4, without_)) {
        case second_opinion::none:
          break;
        case second_opinion::session_is_refused:
          return is_unanswered() ? give_up() : end(session_end::data_lost);
        case second_opinion::authentication_demanded:
          return end(session_end::authentication_demanded);
      }
    }
    look_into_refusals();
  });
}

void session::stop_looking_into_refusals() {
  monitor_.cancel(refusal_timer_);
  second_.give_up();
}

/// A server answers this session.
void session::heard_something() {
  silence_.answered();
  if (refusal_timer_) stop_looking_into_refusals();
}

/// Its nodes stay until it has expired: there is no connection on which to end it.
void session::give_up() {
  const bool watches_much = watched_bytes_ > least_watched;
  log(log_level::error,
      watches_much
          ? "the session connected again and again without an answer to any request, probably because the list of its "
            "watches exceeds jute.maxbuffer of the servers; beginning a new one"
          : "the session connected again and again without an answer to any request, probably because one exceeds "
            "jute.maxbuffer of the servers; beginning a new one",
      {{"session", session_name(info_.id)}, {"connections", silence_.connections()}, {"bytes", watched_bytes_}});
  if (watches_much) most_watched_ = std::min(most_watched_, watched_bytes_ / 2);
  end(session_end::expired);
}

/// In one history each transaction has a larger zxid than those before.
/// @returns whether a node that this session has made is older than what earlier sessions have seen.
bool session::is_of_other_history(operation kind, const reply& with) {
  if (with.code != reply_code::ok || with.stat.czxid == 0) return false;
  newest_ = std::max({newest_, with.stat.czxid, with.stat.pzxid});
  const bool own = kind == operation::create || (info_.id != 0 && with.stat.ephemeral_owner == info_.id);
  return own && is_older(with.stat.czxid);
}

/// Its answer is of no use.
void session::answer_after_end(pending& request, session_end why) {
  end(why);
  reply nothing;
  nothing.code = reply_code::session_over;
  request.on_reply(nothing);
}

}  // namespace latchkey::detail
