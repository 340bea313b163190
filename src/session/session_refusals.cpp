// SPDX-License-Identifier: Apache-2.0
/// What servers refuse: requests and the session, without an answer, and the session as it is needed.

#include <algorithm>
#include <utility>

#include "base/log.hpp"
#include "base/repetition.hpp"
#include "session/session.hpp"

namespace latchkey::detail {
namespace {

using namespace std::chrono_literals;

/// Pauses between looks at servers that refuse the session.
constexpr duration refusal_look = 100ms;

/// Of the list of watches, besides the paths.
constexpr std::size_t bytes_of_list = 64;

/// Of servers in a row that give no session as long as is needed: more than an ensemble has.
constexpr std::size_t most_refusals = 64;

}  // namespace

// Requests that end the connection ----------

/// @returns whether it waits, and all of its urgency behind it: it may be what has ended the last connections.
bool session::is_held_back(const waiting& next) {
  if (next.how == urgency::proof || next.is_stale()) return false;
  if (monitor_.now() < throttled_until_) return true;
  if (next.what.kind == operation::children && lists_ != 0 && lists_ * bytes_of_list_ > most_listed) return true;
  if (limit_.is_old(next.shape.bytes, monitor_.now())) {
    limit_.ask(limit_.bytes());
    ask_for_limit();
  }
  const auto until = limit_.held_until(next.shape);
  if (until == time_point::min()) return false;
  if (until == time_point::max()) return true;
  if (monitor_.now() >= until) return !silence_.heard();
  if (!held_timer_) {
    held_timer_ = monitor_.at(until, [this] {
      held_timer_ = {};
      if (connected_) send_waiting();
    });
  }
  return true;
}

/// A server that throttles has not executed a request, and would hear of it again at once: nothing but proofs, whose beat is a
/// pause, is sent for a while that grows as long as that goes on.
void session::be_throttled() {
  const auto now = monitor_.now();
  if (now < throttled_until_) return;
  const bool begins = now - throttled_until_ > repetition::longest_pause;
  if (!begins && throttle_ == repetition::first_pause)
    log(log_level::warning, "the servers throttle requests, which are sent again after a pause");
  throttle_ = begins ? repetition::first_pause : std::min(2 * throttle_, repetition::longest_pause);
  throttled_until_ = now + std::min<duration>(throttle_, duration{info_.timeout} / 16);
  monitor_.at(throttled_until_, [this] {
    if (connected_) send_waiting();
  });
}

/// @returns `ok` if it may be sent.
reply_code session::refusal_of(const waiting& next) {
  const auto connections = next.how == urgency::proof ? 0 : limit_.refused_after(next.shape, monitor_.now());
  if (connections == 0) return reply_code::ok;
  refused_bytes_ = next.shape.bytes;
  refused_after_ = connections;
  if (!limit_.fails_for_size(next.shape.bytes)) say_refused(next, connections);
  return reply_code::too_large;
}

/// Of those that fail for their size, the size is told: `say_limit`.
void session::say_refused(const waiting& which, unsigned connections) {
  const std::pair news{which.shape, connections};
  if (std::exchange(said_, news) == news) return;
  const auto& path = which.what.steps.empty() ? which.what.path : which.what.steps.front().path;
  log(log_level::error,
      "a request is not sent any more for a minute, as each connection on which it was sent has ended, though the "
      "servers take as much",
      {{"path", path}, {"bytes", which.shape.bytes}, {"connections", connections}});
}

/// Soon after it was sent: a network that is down ends a connection after much longer.
void session::blame_for_end(const pending& request) {
  if (request.unsent != reply_code::ok || request.shape.bytes <= largest_lost_.bytes) return;
  if (monitor_.now() - request.sent > duration{info_.timeout} / 4) return;
  largest_lost_ = request.shape;
}

/// Not for long: requests wait for the answer. But the C client connects again only after a moment.
void session::ask_for_limit() {
  if (limit_.asked() == 0 || size_question_.is_asking() || closing_) return;
  const auto bytes = limit_.asked();
  size_question_.ask(bytes, std::max<duration>(duration{info_.timeout} / 2, 2s), without_,
                     [this, bytes](size_question::verdict what) { on_limit_told(bytes, what); });
}

void session::on_limit_told(std::size_t bytes, size_question::verdict what) {
  const auto before = limit_.bytes();
  switch (what) {
    case size_question::verdict::taken:
      limit_.taken(bytes);
      break;
    case size_question::verdict::unknown:
      limit_.unknown();
      break;
    case size_question::verdict::refused:
      limit_.refused(bytes, monitor_.now(), size_question::times);
      break;
  }
  say_limit(before);
  ask_for_limit();
  if (connected_) send_waiting();
}

void session::say_limit(std::size_t before) const {
  if (limit_.bytes() == 0 || before != 0) return;
  log(log_level::error,
      "each connection ends on which so much is sent at once, so larger requests fail from now on, and proofs and "
      "deletions are divided; raise jute.maxbuffer of the servers",
      {{"bytes", limit_.bytes()}});
}

// Sessions that are refused ----------

std::uint64_t session::turned_away() const { return handle_ ? handle_->turned_away() - turned_away_before_ : 0; }

bool session::is_turned_away() const { return turned_away() >= enough_refusals; }

bool session::is_ignored() const { return handle_ && !connected_ && handle_->awaits_server(); }

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
  const bool watches_much = watches_.bytes() > least_watched;
  log(log_level::error,
      watches_much
          ? "the session connected again and again without an answer to any request, probably because the list of its "
            "watches exceeds jute.maxbuffer of the servers; beginning a new one"
          : "the session connected again and again without an answer to any request, probably because one exceeds "
            "jute.maxbuffer of the servers; beginning a new one",
      {{"session", session_name(info_.id)}, {"connections", silence_.connections()}, {"bytes", watches_.bytes()}});
  if (watches_much) {
    limit_.ask(bytes_of_list + watches_.bytes());
    ask_for_limit();
  }
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

// Servers that give no session as it is needed ----------

/// Without that server: the next session is given only those that have not refused. When none is left, or they have
/// been out of reach for a while, all of them are asked again.
void session::begin_elsewhere(session_info refused, bool is_new) {
  log(log_level::warning, "a server does not grant the session timeout; trying the others",
      {{"server", refused.server}, {"wanted_ms", wanted_timeout_}, {"granted_ms", refused.timeout}});
  auto without = without_;
  without.push_back(std::move(refused.server));
  given_ = std::max(given_, refused.timeout);
  if (without.size() > most_refusals) return end(session_end::timeout_refused);
  if (!is_new) return end(session_end::expired, std::move(without));
  monitor_.cancel(move_timer_);
  connector_.retire(std::move(handle_), [] {});
  without_ = std::move(without);
  open();
}

/// A handle that is connected to something else looks for no other server. It is no refusal: the client goes on.
void session::leave_foreign(std::string server) {
  const auto name = server.empty() ? std::string{"an address"} : server;
  if (std::find(foreign_.begin(), foreign_.end(), name) == foreign_.end()) {
    log(log_level::warning, "what answers at an address is no ZooKeeper server; trying the others",
        {{"server", server}});
    foreign_.push_back(name);
  }
  if (!server.empty()) without_.push_back(std::move(server));
  if (info_.id != 0) return end(session_end::expired, std::exchange(without_, {}));
  monitor_.cancel(move_timer_);
  connector_.retire(std::move(handle_), [] {});
  ++epoch_;
  open_later();
}

}  // namespace latchkey::detail
