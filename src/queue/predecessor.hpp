// SPDX-License-Identifier: Apache-2.0
#pragma once

/// What an entry waits for.

#include <cstdint>
#include <memory>
#include <string>

#include "queue/outlook.hpp"
#include "queue/rule.hpp"
#include "session/conversation.hpp"
#include "session/peers.hpp"

namespace latchkey::detail {

/// An entry that waits for its predecessor.
class follower {
 public:
  /// @returns the path of its own node.
  virtual const std::string& node() const noexcept = 0;
  /// The predecessor has gone. @param last nothing else is ahead
  virtual void on_ahead_gone(bool last) = 0;
  /// As `peer_listener::on_released`.
  virtual void on_ahead_released() = 0;
  /// As `peer_listener::on_next`.
  virtual void on_next() = 0;
  /// It cannot be watched, for a reason that says nothing about it.
  virtual void on_ahead_unseen(reply_code why) = 0;

  /// @returns what it knows of those ahead.
  virtual detail::outlook& outlook() noexcept = 0;
  /// @returns that of the queue; null: it does not look ahead.
  virtual pace* queue_pace() noexcept = 0;

 protected:
  ~follower() = default;
};

/// The nearest contender ahead of an entry, of this client or another one: it has to go first. It is watched, or its
/// owner is asked to say by datagram that it is closed. When it is destroyed its follower hears no more of it.
class predecessor final : public conversation<predecessor>, private peer_listener {
 public:
  /// @param path of the queue. @param mine the kind of the follower. @param name of its node
  /// @param by by whom it learns of the release; null: by the ensemble alone
  predecessor(client_core& core, follower& who, std::shared_ptr<const std::string> path, const rule& mine,
              std::string name, peers* by);
  ~predecessor();

  /// Begins to wait for it.
  void await();

  /// @returns whether its owner has said that it is closed.
  bool released() const noexcept { return released_; }
  /// The ensemble is to tell when it has gone, unless it watches already.
  void on_no_release() override;

  /// @pre released: a datagram has let the follower in, which hears no more of it. The owner deletes the node. If it has
  /// not done so in time, this client does: the rest of the queue need not wait for the end of the owner's session. The
  /// watch, if there is one, or the next list tells whether it has. Otherwise a read does.
  void see_off();

 private:
  void on_released(const std::string& ahead) override;
  void on_next() override;

  bool subscribe();
  void watch();
  void on_read(const reply& read, time_point asked);
  void look_ahead(duration round_trip);
  void on_looked(const reply& listed, time_point asked);
  void learn(const reply& read);
  void gone();
  void end_overdue();
  std::string own_name() const;

  follower* who_;
  const std::shared_ptr<const std::string> path_;
  const rule* const kind_;
  const std::string name_;
  bool released_ = false;
  peers* const peers_;
};

}  // namespace latchkey::detail
