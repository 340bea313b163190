// SPDX-License-Identifier: Apache-2.0
#pragma once

/// The leases of one caller of a semaphore.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "queue/queue_entry.hpp"
#include "recipes/line/lock_holders.hpp"

namespace latchkey::detail {

class permit;

/// Told what becomes of leases.
class permit_owner {
 public:
  /// A list shows a lease, perhaps not all. The permit must not be called.
  virtual void on_seen(const std::vector<std::string>& /*children*/) {}
  /// Every lease exists, and the session is proved alive.
  virtual void on_ready(permit& which) = 0;
  /// A lease is gone: the others have been given up.
  virtual void on_over(permit& which, loss_reason why) = 0;
  /// The connection was lost.
  virtual void on_delayed() = 0;
  /// A failure that waiting cannot fix.
  virtual void on_failed(const failure& why) = 0;

 protected:
  ~permit_owner() = default;
};

/// Some leases, all of them or none: nodes under `<path>/leases`. Each is an entry that waits for no contender. Whether
/// they are a grant is up to the count of all leases.
class permit final : public place_listener, public std::enable_shared_from_this<permit> {
 public:
  /// @param leases absolute path of their parent
  permit(std::shared_ptr<client_core> core, std::shared_ptr<const std::string> leases, std::uint32_t count,
         permit_owner& owner);

  /// Creates the nodes. @param along a former place whose node is deleted together with the creation of the first
  void start(std::unique_ptr<kept_node> along = {});
  /// Deletes them; the owner is told nothing more.
  void leave();
  /// Deletes all but `count` of them.
  void trim(std::uint32_t count);
  void belong_to(permit_owner& owner) noexcept { owner_ = &owner; }

  std::uint32_t count() const noexcept { return static_cast<std::uint32_t>(leases_.size()); }
  bool empty() const noexcept { return leases_.empty(); }
  /// @returns whether every lease exists, and can be relied on after `refresh()`.
  bool ready() const noexcept;
  /// @pre ready. @returns whether they can be relied on now; if not, `on_ready` or `on_over` follows.
  bool refresh(time_point now);
  /// They are not needed until `refresh()`.
  void stop_proving();
  /// @returns whether all their names are among `children`.
  bool is_in(const std::vector<std::string>& children) const;
  /// A list does not show all of them: it is old, or one is gone. That is told at once only if its node is watched
  /// (`own_nodes`), and by a proof otherwise.
  void look_at_missing(const std::vector<std::string>& children);
  /// @pre their names are known. @returns the number of the last of them.
  std::uint32_t last_number() const;
  /// @returns whether all are known to have been created after that transaction.
  bool are_newer_than(std::int64_t zxid) const noexcept;
  /// @pre ready. @returns the node that a grant rests on.
  const std::string& node() const noexcept { return leases_.front()->node(); }
  /// @pre ready. @returns the token of the next turn.
  fencing_token next_fence() noexcept { return leases_.front()->fence(turns_++); }
  bool asked_to_release() const noexcept { return asked_to_release_; }

  // Of the line:
  hold* held = nullptr;          ///< by a caller, also after a loss
  std::uint32_t held_count = 0;  ///< of permits of the local limit, while it is held
  std::uint32_t counted = 0;     ///< turns that remote contenders may have waited for
  bool rested = false;           ///< since the last caller
  std::uint64_t shrinks = 0;     ///< how often the number of permits had become smaller when it was counted

 private:
  void on_granted() override;
  void on_listed(const std::vector<std::string>& children) override { owner_->on_seen(children); }
  void on_delayed() override;
  void on_refused() override { end(loss_reason::node_deleted); }
  void on_suspect() override;
  void on_lost(loss_reason why) override { end(why); }
  void on_failed(const failure& why) override;
  void on_asked_to_release() override;
  void end(loss_reason why);

  const std::shared_ptr<client_core> core_;
  const std::shared_ptr<const std::string> path_;
  permit_owner* owner_;
  std::vector<std::shared_ptr<queue_entry>> leases_;
  std::uint32_t turns_ = 0;
  bool asked_to_release_ = false;
};

}  // namespace latchkey::detail
