// SPDX-License-Identifier: Apache-2.0
#pragma once

/// What a lock object holds its lock by, and what it is told of that.

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <latchkey/grant.hpp>

#include "queue/outlook.hpp"
#include "queue/record.hpp"
#include "queue/requeue.hpp"
#include "queue/rule.hpp"
#include "session/client_core.hpp"

namespace latchkey::detail {

/// What a place does when it is not granted at once.
enum class patience : std::uint8_t {
  wait,  ///< waits until it is granted: through outages, lost sessions and deletions by operators
  once,  ///< gives up: it is for a try
  keep,  ///< waits through outages, but gives up when its place is lost: it is for a caller who counts on it
};

/// @returns the patience of a call that tries once, or waits.
constexpr patience patience_of(bool once) noexcept { return once ? patience::once : patience::wait; }

/// Told what becomes of a place, perhaps from inside a call to it: an entry so tells of delays, refusals, failures and,
/// when it is proved, of its loss; a joint place of anything.
class place_listener {
 public:
  /// Its node is in the queue. Told once.
  virtual void on_queued() {}
  /// A transaction is under way that makes its node and deletes that of `former`.
  /// @param node the name that it will have if no contender has come in between
  virtual void on_following(const kept_node& /*former*/, const std::string& /*node*/) {}
  virtual void on_granted() = 0;
  /// A contender is ahead, or the connection was lost. May be told again.
  virtual void on_delayed() {}
  /// The list that lets it in. The place must not be called.
  virtual void on_listed(const std::vector<std::string>& /*children*/) {}
  /// The proof that `confirm` has asked for did not arrive.
  virtual void on_unconfirmed() {}
  /// With `patience::once`: another contender holds the lock, or the ensemble is out of reach. With `patience::keep`:
  /// the place is lost. The place is over.
  virtual void on_refused() = 0;
  virtual void on_suspect() = 0;
  /// The grant is lost. The place is over.
  virtual void on_lost(loss_reason why) = 0;
  /// A failure that waiting cannot fix. The place is over.
  virtual void on_failed(const failure& why) = 0;
  virtual void on_asked_to_release() {}
  /// @returns what goes along with the deletion of its node, which it is about to leave: see `reaper::remove`.
  virtual std::vector<step> last_words() const { return {}; }
  /// @returns the name of a node that the place is not to delete when it ends, since its listener does.
  virtual std::string spared_node() const { return {}; }
  /// @returns whether a transaction may delete its node.
  virtual bool may_release() const noexcept { return true; }
  /// A transaction that deletes its node is under way, or, if not `yes`, has not been applied.
  virtual void on_releasing(bool /*yes*/) {}
  /// It is of another kind now, as `downgrade` has asked for.
  virtual void on_downgraded() {}
  /// @returns that of its queue; null: the place does not look ahead.
  virtual pace* queue_pace() noexcept { return nullptr; }
  /// @returns the data of its node.
  virtual std::string record(std::string_view label, const rule& kind) const {
    return describe_owner(label, kind.name);
  }

 protected:
  ~place_listener() = default;
};

/// An entry of a queue, or several entries of several queues.
class place {
 public:
  /// Begins to queue. The listener is told of the outcome later.
  /// @param former what `leave_for_another` of the previous place has returned: its node is deleted together with the
  /// creation of the new one, if one transaction can do both.
  virtual void start(patience how, std::unique_ptr<kept_node> former = {}) = 0;

  /// Leaves the queue, in whatever state it is. The listener is told nothing more; no node stays behind.
  /// @param closed no grant of it is in use, and each of its transactions has been answered: the one behind may be told
  virtual void leave(bool closed = false) = 0;

  /// As `leave`, but the node is kept for a moment (`reaper::remove_soon`) for the next place.
  /// @param turn the number of the next turn; 0 if there was none yet
  /// @returns what to give to the next place; nothing if it could not use it.
  virtual std::unique_ptr<kept_node> leave_for_another(std::uint32_t /*turn*/, bool closed = false) {
    leave(closed);
    return nullptr;
  }

  /// @pre granted. @returns whether the grant can be relied on now. If not, a proof is asked for: when it arrives the
  /// listener is told `on_granted`, otherwise the place queues again.
  virtual bool refresh(time_point now) = 0;

  /// @pre granted. The grant is not needed until `refresh()`: no proofs are sent.
  virtual void stop_proving() = 0;

  /// What it does when it is no longer granted.
  virtual void set_patience(patience how) noexcept = 0;

  /// @returns whether it has waited for a contender ahead.
  virtual bool waited() const noexcept = 0;

  /// @returns the absolute path of the node; empty before it is known.
  virtual const std::string& node() const noexcept = 0;

  /// @pre granted. @returns the token of a turn.
  virtual fencing_token fence(std::uint32_t turn) const noexcept = 0;
  /// @returns the number of the first of its turns.
  virtual std::uint32_t first_turn() const noexcept { return 0; }

  /// Replaces the listener.
  void listen(place_listener& listener) noexcept { listener_ = &listener; }

 protected:
  explicit place(place_listener& listener) : listener_{&listener} {}
  ~place() = default;

  place_listener* listener_;
};

}  // namespace latchkey::detail
