// SPDX-License-Identifier: Apache-2.0
/// What is under way in a session: requests in their order, and what has got stuck.

#include <algorithm>
#include <numeric>
#include <utility>

#include "session/session.hpp"

namespace latchkey::detail {
namespace {

using namespace std::chrono_literals;

bool is_read(operation kind) {
  return kind == operation::children || kind == operation::get || kind == operation::get_acl;
}

/// @returns what an answer tells about the session; nothing when no server has given it. A transaction that fails
/// is committed, too, as an error.
std::optional<evidence> evidence_of(operation kind, reply_code code) {
  if (is_lost(code)) return std::nullopt;
  if (is_read(kind)) return evidence::heard;
  const bool committed = code == reply_code::ok || (kind == operation::transact && code == reply_code::no_node);
  if (!committed) return evidence::heard;
  return kind == operation::sync ? evidence::relayed : evidence::committed;
}

/// @returns the one of `counts` that counts such requests.
std::uint64_t& count_of(operation kind, client_metrics& counts) {
  if (is_read(kind)) return counts.reads;
  if (kind == operation::transact) return counts.transactions;
  return kind == operation::sync ? counts.syncs : counts.writes;
}

std::size_t bytes_of(const std::vector<std::string>& names) {
  constexpr std::size_t bytes_of_length = 4;
  return std::accumulate(names.begin(), names.end(), std::size_t{0},
                         [](std::size_t sum, const std::string& each) { return sum + bytes_of_length + each.size(); });
}

}  // namespace

void session::submit(request what, reply_callback on_reply, urgency how) {
  const auto shape = shape_of(what, bytes_of_acl_);
  send_in_turn({std::move(what), std::move(on_reply), {}, how, shape});
}

watch_id session::submit(request what, reply_callback on_reply, watch_table::callback on_watch, urgency how) {
  auto watch = watches_.add(what.path, what.kind == operation::children, std::move(on_watch));
  what.watch = true;
  watched_ = true;
  const auto shape = shape_of(what, bytes_of_acl_);
  send_in_turn({std::move(what), std::move(on_reply), watch, how, shape});
  return watch;
}

/// T/24 is what a lease leaves for round trips.
bool session::is_slow() const {
  return !pending_.empty() && monitor_.now() - pending_.front().sent > duration{info_.timeout} / 24;
}

void session::send_in_turn(waiting next) {
  send_waiting();
  const auto how = next.how;
  if (!sending_ && queue_.may_send(how, is_slow()) && !is_held_back(next)) return send(std::move(next));
  for (auto& stale : queue_.put(how, std::move(next))) stale_.push_back(std::move(stale));
  send_waiting();
}

void session::send(waiting next) {
  const auto kind = next.what.kind;
  const auto sent = monitor_.now();  // before it is sent: a proof must not look younger than it is
  const auto id = first_id_ + pending_.size();
  ++count_of(kind, counts_.client);
  if (next.what.watch) ++counts_.client.watches;
  auto unsent = refusal_of(next);
  const bool is_sent = unsent == reply_code::ok && handle_ && handle_->send(id, std::move(next.what));
  if (!is_sent && unsent == reply_code::ok) unsent = reply_code::not_sent;
  pending_.push_back({std::move(next.on_reply), kind, sent, std::move(next.watch), next.how, next.shape, unsent});
  queue_.sent(next.how);
  if (kind == operation::children) ++lists_;
  if (is_sent) silence_.asked();
  // Not at once: who sends it again should find another state of affairs.
  if (!is_sent) {
    monitor_.in(10ms, [this, id] {
      answer_refused(id + 1);
      if (connected_) send_waiting();
    });
  }
  watch_over_requests();
}

/// Those that are not waited for any more are withdrawn. Who is told of that may ask for something else: it is sent in
/// its turn by the outermost call, so that no chain of them needs more of the stack.
void session::send_waiting() {
  if (sending_) return;
  sending_ = true;
  const auto end = [](bool* sending) { *sending = false; };
  const std::unique_ptr<bool, decltype(end)> at_end{&sending_, end};
  const auto may_go = [this](const waiting& each) { return !is_held_back(each); };
  while (true) {
    while (!stale_.empty()) {
      auto withdrawn = std::move(stale_.front());
      stale_.pop_front();
      not_sent(withdrawn, reply_code::not_sent);
    }
    auto next = queue_.take(may_go, is_slow());
    if (!next) break;
    if (next->is_stale()) {
      stale_.push_back(std::move(*next));
    } else {
      send(std::move(*next));
    }
  }
}

void session::not_sent(waiting& what, reply_code code) {
  reply with;
  with.code = code;
  watches_.erase(what.watch);
  what.on_reply(with);
}

void session::on_reply(std::uint64_t epoch, std::uint64_t id, reply with) {
  monitor_.run([&] {
    if (epoch != epoch_) return;
    if (with.code == reply_code::authentication_demanded && !closing_) return end(session_end::authentication_demanded);
    // A handle that is turned away has lost its connection, also if it has not said so.
    if (is_lost(with.code) && connected_ && turned_away() != 0) return become_disconnected();
    answered_ = true;
    if (with.code == reply_code::not_sent) be_throttled();
    if (!is_lost(with.code)) heard_something();
    answer_refused(id);
    auto request = take(id);
    if (!request.on_reply) return;
    if (with.code == reply_code::unknown_outcome) blame_for_end(request);
    if (is_of_other_history(request.kind, with) && !closing_) {
      return answer_after_end(request, session_end::data_lost);
    }
    if (!is_lost(with.code)) limit_.answered(request.shape);
    if (request.kind == operation::children && with.code == reply_code::ok) bytes_of_list_ = bytes_of(with.children);
    if (const auto what = evidence_of(request.kind, with.code)) {
      heard_at_ = std::max(heard_at_, request.sent);
      counts_.request.add(monitor_.now() - request.sent);
      listener_.on_answered(*what, request.sent);
    }
    answer(request, with);
    send_waiting();
    if (idle()) listener_.on_idle();
  });
}

/// @returns the request with this id, which is then in flight no more; an empty one when it has been answered already.
session::pending session::take(std::uint64_t id) {
  if (id < first_id_ || id - first_id_ >= pending_.size()) return {};
  auto taken = std::exchange(pending_[id - first_id_], pending{});
  if (taken.on_reply) {
    queue_.answered(taken.how);
    if (taken.kind == operation::children) --lists_;
  }
  while (!pending_.empty() && !pending_.front().on_reply) {
    pending_.pop_front();
    ++first_id_;
  }
  return taken;
}

/// Answers come in the order of the requests, those of refused ones too.
void session::answer_refused(std::uint64_t before) {
  for (auto id = first_id_; id < before; ++id) {
    if (id < first_id_ || id - first_id_ >= pending_.size() || pending_[id - first_id_].unsent == reply_code::ok) {
      continue;
    }
    auto request = take(id);
    reply nothing;
    nothing.code = request.unsent;
    if (request.on_reply) answer(request, nothing);
  }
}

void session::answer(pending& request, reply& with) {
  if (with.code == reply_code::ok) {
    watches_.arm(request.watch);
  } else {
    watches_.erase(request.watch);
  }
  request.on_reply(with);
}

void session::answer_everything(reply_code code) {
  const auto requests = std::exchange(pending_, {});
  if (code == reply_code::unknown_outcome) {
    for (const auto& each : requests) {
      if (each.on_reply) blame_for_end(each);
    }
  }
  auto unsent = queue_.clear();
  lists_ = 0;
  first_id_ += requests.size();
  for (auto request : requests) {
    if (!request.on_reply) continue;
    reply with;
    const bool not_tried = request.unsent != reply_code::ok && code == reply_code::unknown_outcome;
    with.code = not_tried ? request.unsent : code;
    answer(request, with);
  }
  for (auto& each : unsent) not_sent(each, code == reply_code::session_over ? code : reply_code::not_sent);
  if (!requests.empty() && idle()) listener_.on_idle();
}

void session::on_watch(std::uint64_t epoch, watch_event event, std::string_view path) {
  monitor_.run([&] {
    if (epoch != epoch_) return;
    heard_something();
    watches_.on_event(event, std::string{path});
  });
}

/// Frees requests that are stuck (ZOOKEEPER-4537) and gives up those that have no answer within the session timeout.
/// The oldest is looked at when it is T/8 old, no later: the first proof of a grant must be answered within T/6. The
/// timer is left to run when nothing is in flight: it is set once in a while, not once a request.
void session::watch_over_requests() {
  if (overseer_ || pending_.empty()) return;
  const auto patience = duration{info_.timeout} / 8;
  overseer_ = monitor_.at(std::max(pending_.front().sent, last_nudge_) + patience, [this, patience] {
    overseer_ = {};
    if (!connected_ || pending_.empty()) return;
    const auto now = monitor_.now();
    if (now - pending_.front().sent >= info_.timeout) {
      auto oldest = take(first_id_);
      reply nothing;
      nothing.code = reply_code::unknown_outcome;
      answer(oldest, nothing);
      send_waiting();
    } else if (now - pending_.front().sent >= patience && now - last_nudge_ >= patience) {
      last_nudge_ = now;
      ++counts_.client.nudges;
      send({request{.kind = operation::sync, .path = "/"}, [](reply&) {}, {}, urgency::proof, {}});
    }
    watch_over_requests();
  });
}

}  // namespace latchkey::detail
