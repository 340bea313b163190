// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "simulation/fake_ensemble.hpp"
#include "simulation/fake_session.hpp"
#include "simulation/trace.hpp"

namespace latchkey::testing {

using detail::connection_state;
using detail::reply_code;

namespace {

std::string password_of(std::int64_t session) { return fmt::format("{:016x}", session); }

}  // namespace

bool fake_session::in_hole() const noexcept { return client_->cut || ensemble_.time().now() < hole_until_; }

/// What does not pass now is tried again when the hole ends, or the cut.
void fake_session::when_passable(time_point hole_ends, simulation::action what) {
  if (client_->cut) {
    when_healed_.push_back(std::move(what));
  } else {
    time().at(hole_ends, std::move(what));
  }
}

void fake_session::on_healed() {
  for (auto& each : std::exchange(when_healed_, {})) time().after({}, std::move(each));
}

void fake_session::open_hole(duration length) {
  hole_until_ = std::max(hole_until_, time().now() + length);
  delayed_until_ = std::max(delayed_until_, hole_until_);
}

void fake_session::tell(connection_state state, detail::session_info info) {
  if (ensemble_.traced()) trace("is", std::string{to_string(state)});
  listener_->on_connection(epoch_, state, info);
}

// Connecting

void fake_session::resume(const detail::former_session& left) {
  session_ = ensemble_.leader().find_session(left.id);
  is_unknown_ = !session_ || left.password != password_of(left.id);
  if (session_) timeout_ = session_->timeout;
}

void fake_session::start() { connect_later(plan().network.draw(time().random())); }

void fake_session::connect_later(duration wait) {
  time().after(wait, [this, connection = connection_] { attempt(connection); });
}

void fake_session::attempt(std::uint64_t connection) {
  if (connection != connection_ || dead_ || closing_ || over_) return;
  if (stopped()) return time().at(resumes_at(), [this, connection] { attempt(connection); });
  auto& server = ensemble_.server(static_cast<unsigned>(time().random().below(ensemble_.servers())));
  const auto there_and_back = plan().network.draw(time().random()) * 2;
  time().after(there_and_back, [this, connection, &server] { establish(connection, server); });
}

void fake_session::establish(std::uint64_t connection, fake_server& server) {
  if (connection != connection_ || dead_ || closing_ || over_) return;
  if (in_hole()) return attempt_failed();
  // A server refuses a client that has seen more than itself, and everyone while it does not serve.
  if (!server.accepts_clients() || server.zxid() < last_zxid_) {
    ++turned_away_;
    return attempt_failed();
  }
  if (ensemble_.credentials_refused()) return become_over(connection_state::auth_failed);
  if (is_unknown_ || (session_ && timeout_ > duration::zero() && session_->over)) {
    return become_over(connection_state::expired);
  }
  agree(server);
  server_ = &server;
  server.attach(*this);
  stuck_ = heard_of_ = turned_out_ = false;
  arrived_ = considered_ = forwardable_ = served_ = 0;
  last_arrival_ = last_forward_ = last_delivery_ = time().now();
  time().after(plan().network.draw(time().random()), [this, connection] { on_linked(connection); });
}

/// Each server has its own limits of the session timeout, and the client asks for the newest that it has heard of. The
/// leader is asked whether the session is valid, and touches it. A client that has not heard of its session gets
/// another one.
///
/// A shorter timeout counts at the leader from when the client has heard of it. In truth it counts at once: an answer
/// that is lost or late is a known limit (recipes/README.md, Z6), which no history is to meet.
void fake_session::agree(fake_server& server) {
  agreed_at_ = time().now();
  if (timeout_ > duration::zero()) {
    agreed_ = server.agreed_timeout(timeout_);
    return ensemble_.leader().touch(*session_, std::max(agreed_, timeout_));
  }
  agreed_ = server.agreed_timeout(client_->timeout);
  session_ = &ensemble_.leader().open_session(agreed_);
  server.catch_up(ensemble_.log().size());  // the client hears of its session when the server has applied it
}

void fake_session::attempt_failed() {
  if (stopped()) {
    return time().at(resumes_at(), [this, connection = connection_] {
      if (connection == connection_ && !dead_) attempt_failed();
    });
  }
  when_passable(time().now() + plan().reconnecting.draw(time().random()),
                [this, connection = connection_] { attempt(connection); });
  tell_of_gap();
  // What waited for a connection never left; the C client cannot tell.
  for (const auto& each : std::exchange(packets_, {})) {
    answer(each, time().random().coin() ? reply_code::unknown_outcome : reply_code::not_sent);
  }
}

void fake_session::on_linked(std::uint64_t connection) {
  if (connection != connection_ || dead_) return;
  if (in_hole() || stopped()) {
    const auto later = std::max(resumes_at(), hole_until_);
    return when_passable(later, [this, connection] { on_linked(connection); });
  }
  tell_of_gap();
  if (connection != connection_ || dead_ || closing_) return;
  connected_ = true;
  const bool shorter = agreed_ < timeout_;
  timeout_ = agreed_;
  last_received_ = time().now();
  if (!data_watches_.empty() || !child_watches_.empty()) {
    packet first;
    first.kind = packet_kind::set_watches;
    packets_.push_front(std::move(first));
  }
  for (std::size_t i = 0; i < packets_.size(); ++i) put_on_wire();
  last_sent_ = time().now();
  check_idle(connection);
  auto& session = *session_;
  tell(connection_state::connected, {.id = session.id,
                                     .timeout = std::chrono::duration_cast<std::chrono::milliseconds>(timeout_),
                                     .password = password_of(session.id)});
  if (shorter) ensemble_.leader().shorten(session, agreed_at_ + agreed_);
}

void fake_session::become_over(connection_state why) {
  over_ = true;
  ++connection_;
  time().after(plan().network.draw(time().random()), [this, why] { on_over(why); });
}

void fake_session::on_over(connection_state why) {
  if (dead_) return;
  if (stopped()) return time().at(resumes_at(), [this, why] { on_over(why); });
  tell_of_gap();
  const auto waiting = std::exchange(packets_, {});
  if (time().random().coin()) {  // after the end answers may be missing
    for (const auto& each : waiting) answer(each, reply_code::session_over);
  }
  if (!dead_) tell(why, {session_ ? session_->id : 0, {}});
}

// Losing the connection

void fake_session::lose_connection() { lose(loss::as_it_comes); }

void fake_session::on_server_closes() { lose(loss::as_it_comes); }

void fake_session::lose(loss how) {
  if (!server_) return;
  if (ensemble_.traced()) trace("loses its connection to server", std::to_string(server_->number()));
  if (connected_) hand_over_late(how);
  std::exchange(server_, nullptr)->detach(*this);
  ++connection_;
  inbox_.clear();
  if (connected_) {
    connected_ = false;
    gap_to_tell_ = true;
    for (auto& each : packets_) unanswered_.push_back(std::move(each));
    packets_.clear();
    time().after({}, [this] { tell_of_gap(); });
  }
  if (closing_) {
    time().after(plan().network.draw(time().random()), [this] { finish_close(); });
  } else {
    connect_later(plan().reconnecting.draw(time().random()));
  }
}

/// Of the requests on their way, those up to some point may still reach the leader; TCP lets none overtake.
void fake_session::hand_over_late(loss how) {
  if (session_->over || !server_->reaches_leader()) return;
  if (how != loss::late && !time().random().chance(plan().late_write)) return;
  auto end = how == loss::late ? arrived_ + 1 : how == loss::before_arrival || in_hole() ? arrived_ : packets_.size();
  if (end <= considered_) return;
  if (how != loss::late) end = considered_ + 1 + time().random().below(end - considered_);
  auto when = time().now();
  for (auto i = considered_; i < end; ++i) {
    auto& each = packets_[i];
    if (each.kind == packet_kind::close) return;
    if (!each.is_write() || each.decided) continue;
    when += time().random().between({}, plan().latest_write);
    ensemble_.leader().process_late(*session_, each.what, when);
  }
}

void fake_session::tell_of_gap() {
  if (!gap_to_tell_ || dead_) return;
  if (stopped()) return time().at(resumes_at(), [this] { tell_of_gap(); });
  gap_to_tell_ = false;
  const bool announced = !time().random().chance(plan().unannounced);
  const bool first = time().random().coin();
  const auto lost = std::exchange(unanswered_, {});
  if (announced && first) tell(connection_state::disconnected, {});
  for (const auto& each : lost) answer(each, reply_code::unknown_outcome);
  if (announced && !first && !dead_) tell(connection_state::disconnected, {});
}

}  // namespace latchkey::testing
