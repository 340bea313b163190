// SPDX-License-Identifier: Apache-2.0
#include "session/own_nodes.hpp"

#include <utility>

namespace latchkey::detail {
namespace {

/// At a time: what callers wait for is not to stand behind thousands of reads.
constexpr std::size_t most_reads = 64;

}  // namespace

void own_nodes::add(node_owner& who) {
  ++count_;
  who.watched.is_ = state::young;
  who.watched.due_ = monitor_.now() + youth;
  push_back(who);
  if (!timer_ && first_ == &who) read_later(who.watched.due_);
}

void own_nodes::remove(node_owner& who) {
  if (who.watched.is_ == state::none) return;
  --count_;
  if (who.watched.is_ == state::young) unlink(who);
  if (const auto read = std::exchange(who.watched.read_, 0); read != 0) reads_.erase(read);
  if (const auto number = std::exchange(who.watched.watch_, 0); number != 0) {
    watch_id watch{who.node(), number};
    session_.forget(watch);
  }
  who.watched.is_ = state::none;
  if (starved_) read_due();
}

void own_nodes::watch(node_owner& who) {
  if (who.watched.is_ != state::young) return;
  unlink(who);
  who.watched.due_ = monitor_.now();
  push_front(who);
  read_due();
}

/// After a reconnect the events of all watches come first, and in no order: the first answer ends that.
bool own_nodes::sure(const node_owner& who) const noexcept {
  if (!session_.connected() || !session_.answered()) return false;
  if (who.watched.is_ == state::young) return monitor_.now() < who.watched.due_;
  return who.watched.is_ == state::watched;
}

void own_nodes::look(node_owner& who) {
  if (who.watched.read_ != 0) return;
  if (who.watched.is_ == state::young) {
    unlink(who);
    who.watched.is_ = state::unwatched;
  }
  read(who, who.watched.watch_ == 0 && affordable(who));
}

void own_nodes::read_next(node_owner& who) {
  if (who.watched.is_ == state::young && affordable(who)) return watch(who);
  look(who);
}

// The young ----------

void own_nodes::push_back(node_owner& who) noexcept {
  who.watched.before_ = last_;
  who.watched.after_ = nullptr;
  (last_ ? last_->watched.after_ : first_) = &who;
  last_ = &who;
}

void own_nodes::push_front(node_owner& who) noexcept {
  who.watched.is_ = state::young;
  who.watched.before_ = nullptr;
  who.watched.after_ = first_;
  (first_ ? first_->watched.before_ : last_) = &who;
  first_ = &who;
}

void own_nodes::unlink(node_owner& who) noexcept {
  (who.watched.before_ ? who.watched.before_->watched.after_ : first_) = who.watched.after_;
  (who.watched.after_ ? who.watched.after_->watched.before_ : last_) = who.watched.before_;
  who.watched.before_ = who.watched.after_ = nullptr;
}

/// One timer for all: each is due so long after its creation. It is left to run for one that has gone.
void own_nodes::read_later(time_point when) {
  timer_ = monitor_.at(when, [this] {
    timer_ = {};
    read_due();
  });
}

void own_nodes::read_due() {
  starved_ = false;
  if (!first_ || !session_.connected()) return;
  const auto now = monitor_.now();
  while (first_ && first_->watched.due_ <= now) {
    if (reads_.size() >= most_reads) return;  // the next answer goes on
    if (!affordable(*first_)) {
      starved_ = true;
      if (!timer_) read_later(now + session_.info().timeout / 4);  // others may go without a word
      return;
    }
    auto& who = *first_;
    unlink(who);
    read(who, true);
  }
  if (first_ && !timer_) read_later(first_->watched.due_);
}

bool own_nodes::affordable(const node_owner& who) const noexcept { return session_.may_watch(who.node()); }

// Reads and events ----------

void own_nodes::read(node_owner& who, bool watch) {
  const auto id = ++last_read_;
  reads_.erase(std::exchange(who.watched.read_, id));
  reads_.emplace(id, &who);
  request get{.kind = operation::get, .path = who.node()};
  const answered on_reply{this, id};
  if (!watch) return session_.submit(std::move(get), on_reply);
  who.watched.is_ = state::reading;
  who.watched.watch_ =
      session_.submit(std::move(get), on_reply, [this, &who](watch_event event) { on_event(who, event); }).number;
}

void own_nodes::on_read(std::uint64_t id, const reply& read) {
  const auto at = reads_.find(id);
  if (at == reads_.end()) return read_due();  // not ours any more
  auto& who = *at->second;
  reads_.erase(at);
  who.watched.read_ = 0;
  if (read.code != reply_code::ok && who.watched.is_ == state::reading) who.watched.watch_ = 0;  // forgotten already
  switch (read.code) {
    case reply_code::ok:
      who.watched.is_ = who.watched.watch_ != 0 ? state::watched : state::unwatched;
      who.on_node_seen(read.data == release_request, read.stat.czxid);
      break;
    case reply_code::no_node:
      remove(who);
      who.on_node_gone();
      break;
    case reply_code::session_over:
      break;
    case reply_code::unknown_outcome:
    case reply_code::not_sent:
      if (who.watched.watch_ == 0) {
        who.watched.due_ = monitor_.now();
        push_front(who);
      }
      who.on_node_unseen(read.code);
      break;
    default:
      if (who.watched.watch_ == 0) who.watched.is_ = state::unwatched;
      who.on_node_unseen(read.code);
  }
  read_due();
}

void own_nodes::on_event(node_owner& who, watch_event event) {
  who.watched.watch_ = 0;
  if (event == watch_event::deleted) {
    remove(who);
    return who.on_node_gone();
  }
  if (session_.connected()) return read(who, true);  // its data has changed
  who.watched.due_ = monitor_.now();
  push_front(who);
}

}  // namespace latchkey::detail
