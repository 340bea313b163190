// SPDX-License-Identifier: Apache-2.0
#include "simulation/fake_session.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "simulation/fake_ensemble.hpp"
#include "simulation/trace.hpp"

namespace latchkey::testing {

using namespace std::chrono_literals;
using detail::operation;
using detail::reply_code;
using detail::watch_event;

fake_session::fake_session(fake_ensemble& ensemble, std::shared_ptr<fake_client> client, std::uint64_t epoch,
                           detail::connector_listener& listener)
    : ensemble_{ensemble}, client_{std::move(client)}, epoch_{epoch}, listener_{&listener} {}

simulation& fake_session::time() noexcept { return ensemble_.time(); }
const fault_plan& fake_session::plan() const noexcept { return ensemble_.plan(); }
time_point fake_session::resumes_at() const { return ensemble_.time().resumes_at(client_->process); }
void fake_session::trace(std::string_view what, const std::string& which) const {
  ensemble_.trace(fmt::format("process {} session {:x} {} {}", static_cast<std::size_t>(client_->process),
                              session_ ? session_->id : 0, what, which));
}

bool fake_session::stopped() const { return resumes_at() > ensemble_.time().now(); }

// What the system under test asks for

bool fake_session::send(std::uint64_t id, detail::request what) {
  if (over_ || dead_ || closing_) return false;
  if (!connected_ && time().random().chance(plan().refuse_sending)) return false;
  ++client_->sent[request_kind::of(what).index()];
  if (ensemble_.traced()) trace("sends", fmt::format("{}: {}", id, describe(what)));
  packet next;
  next.id = id;
  next.what = std::move(what);
  packets_.push_back(std::move(next));
  if (connected_) put_on_wire();
  return true;
}

/// The newest packet sets out.
void fake_session::put_on_wire() {
  last_sent_ = resumes_at();
  if (!server_) return;  // the client has yet to notice that the connection is lost
  last_arrival_ = std::max(last_arrival_, resumes_at() + plan().network.draw(time().random()));
  time().at(last_arrival_, [this, connection = connection_] { on_arrival(connection); });
}

void fake_session::close(std::function<void()> on_closed) {
  closing_ = true;
  on_closed_ = std::move(on_closed);
  auto limit = time().random().between(0ms, 5ms);
  if (connected_ && server_ && !client_->cut) {  // who was cut off by a test need not wait for the C client
    packet last;
    last.kind = packet_kind::close;
    packets_.push_back(std::move(last));
    put_on_wire();
    limit = 3s;  // the C client waits no longer for the answer
  }
  time().after(limit, [this] { finish_close(); });
}

void fake_session::finish_close() {
  if (dead_) return;
  if (stopped()) return time().at(resumes_at(), [this] { finish_close(); });
  // The C client loses completions when it closes; what wraps it may make up for that.
  if (time().random().coin()) {
    for (const auto& each : std::exchange(unanswered_, {})) answer(each, reply_code::session_over);
    for (const auto& each : std::exchange(packets_, {})) answer(each, reply_code::session_over);
  }
  const auto on_closed = std::exchange(on_closed_, nullptr);
  abandon();
  if (on_closed) on_closed();
}

void fake_session::abandon() {
  dead_ = true;
  connected_ = false;
  on_closed_ = nullptr;
  ++connection_;
  if (server_) std::exchange(server_, nullptr)->detach(*this);
  packets_.clear();
  unanswered_.clear();
  inbox_.clear();
}

// What is delivered to it

void fake_session::on_delivery(std::uint64_t connection) {
  if (connection != connection_ || dead_) return;
  if (in_hole() || stopped()) {
    const auto later = std::max(resumes_at(), hole_until_);
    return when_passable(later, [this, connection] { on_delivery(connection); });
  }
  auto arrived = std::move(inbox_.front());
  inbox_.pop_front();
  last_received_ = time().now();
  switch (arrived.what) {
    case message::kind::reply:
      return deliver_reply(arrived);
    case message::kind::event:
      return deliver_event(arrived);
    case message::kind::pong:
      return;
  }
}

void fake_session::deliver_reply(message& arrived) {
  const auto asked = std::move(packets_.front());
  packets_.pop_front();
  --arrived_;
  --considered_;
  --served_;
  last_zxid_ = std::max(last_zxid_, arrived.zxid);
  // Pings are sent only when nothing is outstanding: then an overdue one goes out at once.
  if (packets_.empty() && session_ && time().now() - last_sent_ >= timeout_ / 3) send_ping();
  switch (asked.kind) {
    case packet_kind::set_watches:
      return;
    case packet_kind::close:
      return finish_close();
    case packet_kind::request:
      break;
  }
  if (asked.what.watch && arrived.answer.code == reply_code::ok) {
    auto& watches = asked.what.kind == operation::children ? child_watches_ : data_watches_;
    const auto path = ensemble_.paths().intern(asked.what.path);
    if (std::find(watches.begin(), watches.end(), path) == watches.end()) watches.push_back(path);
  }
  if (ensemble_.traced()) trace("is answered", fmt::format("{}: {}", asked.id, describe(arrived.answer)));
  listener_->on_reply(epoch_, asked.id, std::move(arrived.answer));
}

void fake_session::deliver_event(const message& arrived) {
  // The C client tells only who has asked, and each once.
  std::size_t found = 0;
  if (arrived.event != watch_event::children_changed) found += std::erase(data_watches_, arrived.path);
  if (arrived.event != watch_event::changed) found += std::erase(child_watches_, arrived.path);
  if (found == 0) return;
  const auto path = ensemble_.paths().text(arrived.path);
  if (ensemble_.traced()) trace("hears of", fmt::format("{} {}", path, to_string(arrived.event)));
  listener_->on_watch(epoch_, arrived.event, path);
}

void fake_session::answer(const packet& asked, reply_code code) {
  if (asked.kind != packet_kind::request || dead_) return;
  if (ensemble_.traced()) trace("is answered", fmt::format("{}: {}", asked.id, to_string(code)));
  detail::reply with;
  with.code = code;
  listener_->on_reply(epoch_, asked.id, std::move(with));
}

// Pings

/// Sends what keeps the session alive, and gives the connection up when nothing has come for 2/3 of the timeout.
void fake_session::check_idle(std::uint64_t connection) {
  if (connection != connection_ || dead_) return;
  const auto check_at = [this, connection](time_point when) {
    time().at(when, [this, connection] { check_idle(connection); });
  };
  if (stopped()) return check_at(resumes_at());
  const auto now = time().now();
  const auto timeout = timeout_;
  if (now - last_received_ >= timeout * 2 / 3) return lose(loss::as_it_comes);
  if (packets_.empty() && now - last_sent_ >= timeout / 3) send_ping();
  auto next = last_received_ + timeout * 2 / 3;
  // With requests outstanding the answer to the last of them will look after the ping.
  next = std::min(next, packets_.empty() ? last_sent_ + timeout / 3 : now + timeout / 3);
  check_at(std::max(next, now + 1ms));
}

void fake_session::send_ping() {
  last_sent_ = time().now();
  if (!server_) return;
  last_arrival_ = std::max(last_arrival_, time().now() + plan().network.draw(time().random()));
  time().at(last_arrival_, [this, connection = connection_] { on_ping(connection); });
}

}  // namespace latchkey::testing
