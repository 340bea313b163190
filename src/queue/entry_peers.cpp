// SPDX-License-Identifier: Apache-2.0
/// How an entry learns by datagram of the release ahead, and announces its own.

#include <string>
#include <utility>

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

/// @returns whether the release is expected soon, or else `on_no_release`.
bool queue_entry::subscribe(const std::string& name) {
  return peers() && peers()->subscribe(*this, *path_, std::string{last_component(node_)}, name);
}

/// Only data written by the creator of the node counts: others may be allowed to write but not to delete.
void queue_entry::learn(const reply& read) {
  if (!peers() || read.stat.version != 0) return;
  auto advert = read_advert(read.data);
  if (!advert) return;
  peers()->learn(*path_, blocker_->name, std::move(*advert));
  subscribe(blocker_->name);
}

/// Every contender that must go before this entry has been deleted or is closed: the blocker itself, those before it, since
/// it was let in alone, and none was listed in between. Right after a reconnect the events of the outage are still to
/// come, perhaps that this entry's own node was deleted: the leader is asked.
void queue_entry::on_released(const std::string&) {
  const auto self = shared_from_this();
  if (state_ != state::waiting || !blocker_) return;
  blocker_->released = true;
  if (how_ == hand_off::direct && through().connected() && through().answered()) return admitted_by_release();
  confirm_release();
}

/// Asks a quorum, behind all that the previous holder has written. A `sync` would not do: a leader that has lost its
/// quorum answers it, with old data, until it notices. An answer that is lost with the connection is asked for again after
/// the reconnect. If there is none for another reason, the watch decides.
void queue_entry::confirm_release() {
  if (!blocker_ || !blocker_->released || !through().connected()) return;
  through().submit({.kind = operation::transact, .steps = {{.path = node_}}},
                   unless_stale([](queue_entry& me, const reply& checked) {
                     if (checked.code == reply_code::no_node) return me.on_node_gone();
                     if (checked.code == reply_code::ok) return me.admitted_by_release();
                     if (me.through().connected()) me.on_no_release();
                   }));
}

void queue_entry::admitted_by_release() {
  see_off();
  admitted_by_neighbour();
}

/// After a long wait the lease is not fresh; without this, the entry would wait for a proof when its turn comes. It stays
/// expected until it is granted, waits anew or leaves: also while it reads its own node, once it has been let in. Until
/// then the proofs have one node more.
void queue_entry::on_next() {
  if (state_ == state::waiting && blocker_) core_->lease_keeper().expect(*this);
}

/// In a fast sequence of hand-offs a watch would be one request and one event for nothing.
void queue_entry::on_no_release() {
  const auto self = shared_from_this();
  if (state_ != state::waiting || !blocker_ || blocker_->watch.number != 0) return;
  if (!through().connected()) return await_connection();
  watch();
}

/// A datagram admits this entry, and the owner of the one ahead deletes its node. If it has not done so in time, this
/// client does: the rest of the queue need not wait for the end of the owner's session. The watch, if there is one, or
/// the next list tells whether it has. Otherwise a read does.
void queue_entry::see_off() {
  const auto at = std::exchange(blocker_, nullptr);
  ++peers()->counts().admitted;
  const auto patience = through().info().timeout / 8;
  const auto delete_it = [core = core_.get(), at, node = join(*path_, at->name)] {
    core->session().forget(at->watch);
    if (core->failed()) return;
    if (!core->session().connected()) return core->reaper().remove_alone(node);
    core->session().submit({.kind = operation::get, .path = node}, [core, node](const reply& read) {
      if (read.code != reply_code::no_node) core->reaper().remove_alone(node);
    });
  };
  if (!peers()->departures().expect(*path_, at->name, patience, delete_it)) through().forget(at->watch);
}

/// Not while an unclosed earlier entry of this client is being deleted: for this client it counts as deleted, so this
/// entry was let in; for others it still exists.
///
/// @returns whether the one behind has been told
bool queue_entry::tell_peers(bool closed) {
  const bool tells = closed && state_ == state::granted && kind_->exclusive() && !replacement_ && !releasing_ &&
                     !followed() && !core_->reaper().owes_bound(*path_);
  return tells && peers() && peers()->tell(std::string{last_component(node_)});
}

/// @pre the reaper gets the node
void queue_entry::bind_node(bool closed) {
  if (core_->peers() && first_ && !closed && !node_.empty()) core_->reaper().bind(node_);
}

void queue_entry::forget_peers() {
  if (peers() && !node_.empty()) peers()->remove(std::string{last_component(node_)});
}

}  // namespace latchkey::detail
