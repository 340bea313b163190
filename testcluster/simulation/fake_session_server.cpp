// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <utility>

#include "session/request_limit.hpp"
#include "simulation/fake_ensemble.hpp"
#include "simulation/fake_session.hpp"

namespace latchkey::testing {

using detail::operation;
using detail::reply_code;
using detail::watch_event;

void fake_session::on_arrival(std::uint64_t connection) {
  if (connection != connection_ || turned_out_) return;
  if (in_hole()) return when_passable(hole_until_, [this, connection] { on_arrival(connection); });
  if (ensemble_.authentication_demanded()) return demand_authentication();
  auto& asked = packets_[arrived_];
  const bool is_request = asked.kind == packet_kind::request;
  if (!ensemble_.takes(size_of(asked))) return lose(loss::before_arrival);
  if (is_request && (trapped(asked.what, trap::lost_before_effect) || time().random().chance(plan().lost_before))) {
    return lose(loss::before_arrival);
  }
  if (is_request && trapped(asked.what, trap::lost_then_late)) return lose(loss::late);
  ++arrived_;
  asked.arrived = time().now();
  server_->touch(*session_, agreed_);
  if (asked.is_sync()) {
    stuck_ = false;
  } else if (is_request && (trapped(asked.what, trap::stuck) || time().random().chance(plan().stuck))) {
    stuck_ = true;
  }
  if (asked.to_leader()) {
    last_forward_ = std::max(last_forward_, time().now() + plan().consensus.draw(time().random()));
    time().at(last_forward_, [this, connection] {
      if (connection != connection_) return;
      ++forwardable_;
      forward();
    });
  }
  serve();
}

/// Without headers.
std::size_t fake_session::size_of(const packet& sent) const {
  if (sent.kind != packet_kind::set_watches) return detail::shape_of(sent.what).bytes;
  std::size_t bytes = 0;
  for (const auto* const each : {&data_watches_, &child_watches_}) {
    for (const auto path : *each) bytes += ensemble_.paths().text(path).size();
  }
  return bytes;
}

/// AuthenticationHelper.enforceAuthentication. The C client ends a connection on which an answer overtakes another.
void fake_session::demand_authentication() {
  turned_out_ = true;
  considered_ = ++arrived_;
  if (served_ + 1 == arrived_) {
    ++served_;
    message last;
    last.answer.code = reply_code::authentication_demanded;
    last.zxid = server_->zxid();
    post(std::move(last));
  }
  time().at(last_delivery_, [this, connection = connection_] {
    if (connection == connection_) lose(loss::before_arrival);
  });
}

void fake_session::on_ping(std::uint64_t connection) {
  if (connection != connection_) return;
  if (in_hole()) return when_passable(hole_until_, [this, connection] { on_ping(connection); });
  server_->touch(*session_, agreed_);
  message pong;
  pong.what = message::kind::pong;
  post(std::move(pong));
}

void fake_session::on_progress() {
  if (!server_) return;
  forward();
  if (server_) serve();
}

/// Passes on to the leader what has come to its door, in order.
void fake_session::forward() {
  while (forwardable_ > 0 && server_) {
    while (!packets_[considered_].to_leader()) ++considered_;
    auto& asked = packets_[considered_];
    const bool alone = server_->is_deposed();
    if (alone ? !asked.is_sync() : !server_->reaches_leader() || server_->holds_back(direction::to_leader)) break;
    ++considered_;
    --forwardable_;
    if (alone) {
      asked.decided = true;
      continue;
    }
    server_->forwarding(asked.arrived);
    if (!std::exchange(heard_of_, true)) ensemble_.leader().settle_late(*session_);
    decide(asked);
  }
  if (server_) serve();
}

void fake_session::decide(packet& asked) {
  if (asked.is_sync()) {
    asked.outcome = ensemble_.leader().process(*session_, asked.what);
    if (server_->is_leader()) {  // which waits for the session's own transactions only (CommitProcessor.needCommit)
      asked.outcome.position = session_->last_position;
      asked.decided = true;
      return;
    }
    return server_->answer_sync(asked.outcome.position, [this, connection = connection_] { on_synced(connection); });
  }
  asked.decided = true;
  if (asked.kind == packet_kind::close) {
    ensemble_.leader().end_session(*session_);
    asked.outcome.position = 0;  // answered at once
    return;
  }
  asked.outcome = ensemble_.leader().process(*session_, asked.what);
}

/// The answer comes behind the commits and the pings on the wire between the servers: a server that lags makes haste.
void fake_session::on_synced(std::uint64_t connection) {
  if (connection != connection_) return;
  const auto asked =
      std::find_if(packets_.begin(), packets_.end(), [](const auto& each) { return each.is_sync() && !each.decided; });
  asked->decided = true;
  serve();
}

/// Answers what can be answered, in order: a read waits for the writes before it.
void fake_session::serve() {
  while (served_ < arrived_ && !stuck_ && server_) {
    auto& asked = packets_[served_];
    if (asked.to_leader() && (!asked.decided || server_->applied() < asked.outcome.position)) return;
    considered_ = std::max(considered_, served_ + 1);
    ++served_;
    if (asked.kind == packet_kind::set_watches) set_watches();
    message next;
    if (asked.kind == packet_kind::request) {
      if (asked.to_leader()) {
        next.answer = written(asked);
      } else {
        next.answer = read(asked);
      }
      if (trapped(asked.what, trap::lost_after_effect) || time().random().chance(plan().lost_after)) {
        time().after({}, [this, connection = connection_] {
          if (connection == connection_) lose(loss::as_it_comes);
        });
        return;
      }
    }
    next.zxid = server_->zxid();
    post(std::move(next));
  }
}

detail::reply fake_session::written(packet& asked) const {
  detail::reply result;
  result.code = asked.outcome.code;
  result.results = std::move(asked.outcome.results);
  if (result.code != reply_code::ok) return result;
  if (asked.what.kind == operation::create) result.path = ensemble_.paths().text(asked.outcome.path);
  if (asked.what.kind == operation::transact) {
    for (const auto each : asked.outcome.created) result.paths.push_back(ensemble_.paths().text(each));
  }
  if (asked.what.kind == operation::create || asked.what.kind == operation::set) result.stat = asked.outcome.stat;
  return result;
}

detail::reply fake_session::read(const packet& asked) {
  detail::reply found;
  const auto& path = asked.what.path;
  if (!path_table::valid(path)) {
    found.code = reply_code::bad_arguments;
    return found;
  }
  const auto number = ensemble_.paths().find(path);
  const auto* node = number ? server_->tree().find(*number) : nullptr;
  found.code = node ? ensemble_.leader().refusal_of(asked.what.kind, path) : reply_code::no_node;
  if (found.code != reply_code::ok) return found;
  const bool list = asked.what.kind == operation::children;
  if (list) {
    found.children.reserve(node->children.size());
    for (const auto child : node->children) found.children.emplace_back(ensemble_.paths().name(child));
  } else if (asked.what.kind == operation::get_acl) {
    found.data = "cdrwa";
  } else {
    if (node->mzxid != 0) found.data = ensemble_.log()[node->data].data;
    found.data_size = found.data.size();
    found.data.resize(std::min(found.data_size, asked.what.most_data));
  }
  found.stat = to_stat(*node, plan().epoch);
  if (asked.what.watch) server_->watch(list ? watch_kind::child : watch_kind::data, *number, *this);
  return found;
}

/// SetWatches: what changed since the client's last zxid is told now, the rest is watched again.
void fake_session::set_watches() {
  for (const auto path : data_watches_) {
    const auto* node = server_->tree().find(path);
    if (!node) {
      on_event(watch_event::deleted, path);
    } else if (node->mzxid > last_zxid_) {
      on_event(watch_event::changed, path);
    } else {
      server_->watch(watch_kind::data, path, *this);
    }
  }
  for (const auto path : child_watches_) {
    const auto* node = server_->tree().find(path);
    if (!node) {
      on_event(watch_event::deleted, path);
    } else if (node->pzxid > last_zxid_) {
      on_event(watch_event::children_changed, path);
    } else {
      server_->watch(watch_kind::child, path, *this);
    }
  }
}

void fake_session::on_event(watch_event event, path_id path) {
  message next;
  next.what = message::kind::event;
  next.event = event;
  next.path = path;
  post(std::move(next), plan().watch_delay.draw(time().random()));
}

/// One stream to the client: what is late delays what comes behind it.
void fake_session::post(message what, duration extra) {
  inbox_.push_back(std::move(what));
  last_delivery_ = std::max(last_delivery_, time().now() + plan().network.draw(time().random()) + extra);
  time().at(last_delivery_, [this, connection = connection_] { on_delivery(connection); });
}

bool fake_session::trapped(const detail::request& asked, trap what) {
  auto& traps = client_->traps;
  const auto found = std::find(traps.begin(), traps.end(), std::pair{request_kind::of(asked), what});
  if (found == traps.end()) return false;
  traps.erase(found);
  return true;
}

}  // namespace latchkey::testing
