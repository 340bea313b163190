// SPDX-License-Identifier: Apache-2.0
#include "queue/predecessor.hpp"

#include <utility>

#include "base/path.hpp"
#include "queue/admission.hpp"

namespace latchkey::detail {

predecessor::predecessor(client_core& core, follower& who, std::shared_ptr<const std::string> path, const rule& mine,
                         std::string name, peers* by)
    : conversation{core}, who_{&who}, path_{std::move(path)}, kind_{&mine}, name_{std::move(name)}, peers_{by} {}

predecessor::~predecessor() {
  anew();
  if (peers_ != nullptr && who_ != nullptr) peers_->awaited().unsubscribe(own_name());
}

void predecessor::await() {
  if (!subscribe()) watch();
}

std::string predecessor::own_name() const { return std::string{last_component(who_->node())}; }

// Its node ----------

/// One watch, so no herd. `get`, since an `exists` watch on a missing node would stay for ever.
void predecessor::watch() {
  const auto read = [asked = core().monitor().now()](predecessor& self, const reply& answer) {
    self.on_read(answer, asked);
  };
  watch_or_look({.kind = operation::get, .path = join(*path_, name_)}, read, [](predecessor& self, watch_event event) {
    if (event == watch_event::deleted) return self.gone();
    if (self.who_ != nullptr) self.watch();  // only its data has changed
  });
}

void predecessor::on_read(const reply& read, time_point asked) {
  if (read.code == reply_code::ok) {
    learn(read);
    return look_ahead(core().monitor().now() - asked);
  }
  if (read.code == reply_code::no_node) return gone();
  if (who_ != nullptr) who_->on_ahead_unseen(read.code);
}

/// Names ahead only ever disappear, with one exception: an entry that becomes one of another kind keeps its number.
void predecessor::gone() {
  if (core().peers()) core().peers()->departures().gone(*path_, name_);
  if (who_ != nullptr)
    who_->on_ahead_gone(who_->outlook().ahead() == 1 && !kind_->may_be_back(*rival_of(*kind_, name_)->kind));
}

// Those ahead of it ----------

/// Only with a watch, whose event comes behind the answer; and not where datagrams tell.
void predecessor::look_ahead(duration round_trip) {
  const auto* const queue = who_ != nullptr && peers_ == nullptr && watching() ? who_->queue_pace() : nullptr;
  if (queue == nullptr) return;
  const auto pause = who_->outlook().look_in(*queue, core().monitor().now(), round_trip);
  if (!pause) return;
  after(*pause, [](predecessor& self) {
    if (!self.connected() || !self.watching()) return;
    self.who_->outlook().looked();
    self.ask(
        {.kind = operation::children, .path = *self.path_},
        [asked = self.core().monitor().now()](predecessor& me, const reply& listed) { me.on_looked(listed, asked); },
        urgency::background);
  });
}

void predecessor::on_looked(const reply& listed, time_point asked) {
  if (listed.code != reply_code::ok || !watching()) return;
  const auto seen = admit(listed.children, own_name(), *kind_);
  if (seen.what != admission::verdict::wait || seen.blocker != name_) return;  // what has happened is told elsewhere
  const auto now = core().monitor().now();
  who_->outlook().listed(seen.blockers, now, who_->queue_pace());
  look_ahead(now - asked);
}

// By datagram ----------

/// @returns whether the release is expected soon, or else `on_no_release`.
bool predecessor::subscribe() {
  return peers_ != nullptr && peers_->awaited().subscribe(*this, *path_, own_name(), name_);
}

/// Only data written by the creator of the node counts: others may be allowed to write but not to delete.
void predecessor::learn(const reply& read) {
  if (peers_ == nullptr || who_ == nullptr || released_ || read.stat.version != 0) return;
  auto advert = read_advert(read.data);
  if (!advert) return;
  peers_->awaited().learn(*path_, name_, std::move(*advert));
  subscribe();
}

void predecessor::on_released(const std::string& /*ahead*/) {
  const auto self = shared_from_this();
  released_ = true;
  who_->on_ahead_released();
}

void predecessor::on_next() { who_->on_next(); }

/// In a fast sequence of hand-offs a watch would be one request and one event for nothing.
void predecessor::on_no_release() {
  if (watching()) return;
  if (connected()) return watch();
  const auto self = shared_from_this();
  who_->on_ahead_unseen(reply_code::not_sent);
}

void predecessor::see_off() {
  peers_->awaited().unsubscribe(own_name());
  who_ = nullptr;
  ++peers_->counts().admitted;
  peers_->departures().expect(*path_, name_, core().session().info().timeout / 8,
                              [self = shared_from_this()] { self->end_overdue(); });
}

void predecessor::end_overdue() {
  if (core().failed()) return;
  const auto node = join(*path_, name_);
  if (!connected()) return core().reaper().remove_alone(node);
  core().session().submit({.kind = operation::get, .path = node}, [&core = core(), node](const reply& read) {
    if (read.code != reply_code::no_node) core.reaper().remove_alone(node);
  });
}

}  // namespace latchkey::detail
