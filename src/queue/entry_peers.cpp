// SPDX-License-Identifier: Apache-2.0
/// How an entry hears of the release of the one ahead from its owner, and tells its own.

#include <string>

#include "base/path.hpp"
#include "base/unique_id.hpp"
#include "queue/queue_entry.hpp"

namespace latchkey::detail {

std::string queue_entry::record() const {
  auto made = listener_->record(core_->options().label, *kind_);
  const auto advert = peers() ? peers()->advert(prefix_) : std::nullopt;
  return advert ? with_advert(std::move(made), *advert) : made;
}

std::string queue_entry::new_prefix() const {
  return entry_prefix(peers() ? peers()->unique_id(*path_) : unique_id(), *kind_);
}

void queue_entry::subscribe(const std::string& name) {
  if (peers()) peers()->subscribe(*this, std::string{last_component(node_)}, name);
}

/// Only what the creator of the node has written counts: others may be allowed to write, but not to delete.
void queue_entry::learn(const std::string& name, const reply& read) {
  if (!peers() || read.stat.version != 0) return;
  auto advert = read_advert(read.data);
  if (!advert) return;
  peers()->learn(name, std::move(*advert));
  subscribe(name);
}

/// All that must go before it has been deleted, or is closed: those before the one ahead when that was let in alone, and
/// between that and us the list has shown nobody. Without a connection the watch decides. Right after a reconnect the
/// events of the outage are still to come, that of the deletion of our own node among them: a list decides.
void queue_entry::on_released(const std::string& ahead) {
  const auto self = shared_from_this();
  const bool may_heed = state_ == state::waiting && blocker_ && through().connected();
  if (!may_heed || !through().answered()) {
    ++peers()->counts().stale;
    if (may_heed) look();
    return;
  }
  if (how_ == hand_off::direct) {
    see_off(ahead);
    return admitted_by_neighbour();
  }
  through().submit({.kind = operation::sync, .path = *path_},
                   unless_stale([ahead](queue_entry& me, const reply& synced) {
                     if (synced.code != reply_code::ok) return;  // the watch decides
                     me.see_off(ahead);
                     me.admitted_by_neighbour();
                   }));
}

/// Who has waited for long has no fresh lease, and would wait for the proof of one when its turn has come.
void queue_entry::on_next() {
  if (state_ == state::waiting && blocker_) core_->lease_keeper().expect(*this);
}

/// Its datagram admits this entry, and its owner deletes the node. If that does not happen soon, the owner has died in
/// between: the rest of the queue does not wait for the end of its session.
void queue_entry::see_off(const std::string& name) {
  const auto at = std::exchange(blocker_, nullptr);
  ++peers()->counts().admitted;
  const auto patience = through().info().timeout / 8;
  at->overdue = core_->monitor().in(patience, [core = core_.get(), at, node = join(*path_, name)] {
    at->overdue = {};
    core->session().forget(at->watch);
    core->reaper().remove_alone(node);
  });
}

/// Not while an earlier entry of this client that was not closed is being deleted. For our own entries it counts as
/// deleted, so this one was let in; for others it is there.
void queue_entry::tell_peers(bool closed) {
  const bool tells = closed && state_ == state::granted && kind_->exclusive() && !replacement_ && !releasing_ &&
                     !followed() && !core_->reaper().owes_bound(*path_);
  if (tells && peers()) peers()->tell(std::string{last_component(node_)});
}

/// @pre the reaper gets the node
void queue_entry::bind_node(bool closed) {
  if (core_->peers() && first_ && !closed && !node_.empty()) core_->reaper().bind(node_);
}

void queue_entry::forget_peers() {
  if (peers() && !node_.empty()) peers()->remove(std::string{last_component(node_)});
}

}  // namespace latchkey::detail
