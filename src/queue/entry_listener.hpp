// SPDX-License-Identifier: Apache-2.0
#pragma once

/// What an entry tells, and how patient it is.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <latchkey/grant.hpp>

#include "queue/record.hpp"
#include "queue/rule.hpp"
#include "session/client_core.hpp"

namespace latchkey::detail {

/// Told what becomes of an entry, with the monitor held. Only `on_delayed` and `on_refused` are called from inside a
/// call to that entry.
class entry_listener {
 public:
  /// Its node is in the queue. Told once.
  virtual void on_queued() {}
  virtual void on_granted() = 0;
  /// A contender is ahead, or the connection was lost. May be told again.
  virtual void on_delayed() {}
  /// The list that lets it in. The entry must not be called.
  virtual void on_listed(const std::vector<std::string>& /*children*/) {}
  /// The proof that `confirm` has asked for did not arrive.
  virtual void on_unconfirmed() {}
  /// With `patience::once`: another contender holds the lock, or the ensemble is out of reach. With `patience::keep`:
  /// the place is lost. The entry is over.
  virtual void on_refused() = 0;
  virtual void on_suspect() = 0;
  /// The grant is lost. The entry is over.
  virtual void on_lost(loss_reason why) = 0;
  /// A failure that waiting cannot fix. The entry is over.
  virtual void on_failed(const failure& why) = 0;
  virtual void on_asked_to_release() {}
  /// A transaction that deletes its node is under way, or, if not `yes`, has not been applied.
  virtual void on_releasing(bool /*yes*/) {}
  /// It is of another kind now, as `downgrade` has asked for.
  virtual void on_downgraded() {}
  /// @returns the data of its node.
  virtual std::string record(std::string_view label, const rule& kind) const {
    return describe_owner(label, kind.name);
  }

 protected:
  ~entry_listener() = default;
};

/// What an entry does when it is not granted at once.
enum class patience : std::uint8_t {
  wait,  ///< waits until it is granted: through outages, lost sessions and deletions by operators
  once,  ///< gives up: it is for a try
  keep,  ///< waits through outages, but gives up when its place is lost: it is for a caller who counts on it
};

/// @returns the patience of a call that tries once, or waits.
constexpr patience patience_of(bool once) noexcept { return once ? patience::once : patience::wait; }

}  // namespace latchkey::detail
