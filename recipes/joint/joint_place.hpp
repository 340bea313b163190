// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Entries of several queues, created by one transaction.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/checked_state.hpp"
#include "queue/queue_entry.hpp"
#include "recipes/rules.hpp"

namespace latchkey::detail {

/// One of the locks of a group.
struct group_member {
  std::string path;  ///< as the user calls it; below the chroot
  contender_kind kind = contender_kind::lock;
};

/// Which entries a group needs.
enum class group_goal : std::uint8_t {
  all,    ///< granted when every entry is let in
  first,  ///< granted when one entry is let in; the others are given up
};

/// An entry of each of several queues. One transaction creates them, or none of them; one transaction gives them up.
///
/// | state      | event                                    | then                                                     |
/// |------------|------------------------------------------|----------------------------------------------------------|
/// | over       | start                                    | connecting, or on at once                                |
/// | connecting | connected                                | peeking if it tries once, else queueing                  |
/// | peeking    | goal all: a queue is held                | over, refused                                            |
/// | peeking    | all queues listed                        | queueing in all, or in free ones; over if there is none  |
/// | queueing   | goal all: each entry has been let in     | granted, after a proof if none is fresh                  |
/// | queueing   | goal first: an entry has been let in     | granted; the other entries are given up                  |
/// | queueing   | an entry is refused: tries once          | over, refused; goal first: if it was the last one        |
/// | queueing   | goal all: an entry is refused or lost    | all are given up, and it starts again, at the end of all |
/// | queueing   | goal first: an entry is refused or lost  | another one is created in that queue                     |
/// | granted    | refresh, no fresh proof                  | queueing                                                 |
/// | granted    | an entry is lost                         | the others are given up; over, lost                      |
/// | any        | leave, a failure                         | over                                                     |
class joint_place final : public place, public std::enable_shared_from_this<joint_place> {
 public:
  /// Most entries that a try for the first of several creates.
  static constexpr std::size_t most_tried = 4;

  /// @param members must outlive it
  /// @param number of this client's lock objects differ: which free queues a try prefers depends on it
  joint_place(std::shared_ptr<client_core> core, const std::vector<group_member>& members, group_goal goal,
              place_listener& listener, std::uint64_t number);

  void start(patience how, std::unique_ptr<kept_node> former = {}) override;
  void leave(bool closed = false) override;
  bool refresh(time_point now) override;
  void stop_proving() override;
  void set_patience(patience how) noexcept override { how_ = how; }

  bool waited() const noexcept override;
  const std::string& node() const noexcept override;
  /// Right for each of the queues; see README.md.
  fencing_token fence(std::uint32_t turn) const noexcept override;

  /// @pre granted. @returns those of the other nodes that a grant rests on.
  std::vector<std::string> other_nodes() const;
  /// @pre granted. @returns the path of the lock, below the chroot: the first of them, or the one that was won.
  const std::string& lock() const noexcept { return first().lock_; }
  /// @returns which entries wait for a contender ahead.
  std::vector<std::size_t> waiting() const;
  /// @returns where a contender was ahead of the last try for all; nothing if that is not why it was refused.
  std::optional<std::size_t> refused_at() const noexcept { return refused_at_; }

 private:
  enum class state : std::uint8_t { over, connecting, peeking, queueing, granted };
  /// It may be left, or fail, in every state.
  // clang-format off
  // to:                  over   connecting  peeking  queueing  granted
  static constexpr transitions<5> may_follow{{
      /* over       */ {true,  true,       false,   false,    false},  // start
      /* connecting */ {true,  true,       true,    true,     false},  // connected
      /* peeking    */ {true,  false,      false,   true,     false},  // all queues are listed
      /* queueing   */ {true,  false,      false,   false,    true},   // its goal is reached
      /* granted    */ {true,  false,      false,   true,     false},  // it is to be proved
  }};
  // clang-format on

  class part final : public place_listener {
   public:
    part(joint_place& whole, std::size_t index, const group_member& what);
    void make_entry();

    void on_granted() override { whole_.on_granted(*this); }
    void on_delayed() override { let_in_ = false; }
    void on_refused() override { whole_.on_refused(*this); }
    void on_suspect() override;
    void on_lost(loss_reason why) override { whole_.on_lost(*this, why); }
    void on_failed(const failure& why) override { whole_.on_failed(why); }
    void on_asked_to_release() override;
    /// The grant may rest on other nodes, too.
    bool may_release() const noexcept override { return false; }

    joint_place& whole_;
    const std::size_t index_;
    const std::string& lock_;                        // below the chroot
    const std::shared_ptr<const std::string> path_;  // absolute
    const rule& kind_;
    std::shared_ptr<queue_entry> entry_;  // none: it is not in the queue
    bool let_in_ = false;
    bool free_ = false;  // as a list says
  };

  const part& first() const;
  bool granted() const noexcept { return state_ == state::granted; }
  void begin();
  void peek();
  void on_listed(part& which, const reply& listed);
  std::vector<std::shared_ptr<queue_entry>> choose_free();
  void queue(const std::vector<std::shared_ptr<queue_entry>>& chosen);
  void begin_again();
  void refuse(std::optional<std::size_t> at = std::nullopt);
  void leave_all_but(const part* kept);
  bool prove_all(time_point now);
  std::vector<std::shared_ptr<queue_entry>> entries() const;
  bool has_entries() const noexcept;

  void on_granted(part& which);
  void on_refused(part& which);
  void on_lost(part& which, loss_reason why);
  void on_failed(const failure& why);

  const std::shared_ptr<client_core> core_;
  const group_goal goal_;
  const std::uint64_t number_;
  std::vector<std::unique_ptr<part>> parts_;
  patience how_ = patience::wait;
  checked_state<state, may_follow> state_ = state::over;
  std::uint64_t step_ = 0;        // counts what has been begun; what was under way before is stale
  std::uint64_t connecting_ = 0;  // see `client_core::when_connected`
  std::size_t unlisted_ = 0;      // queues that have not been listed
  std::optional<std::size_t> refused_at_;
  bool asked_to_release_ = false;
};

}  // namespace latchkey::detail
