// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Places in several queues, created by one transaction.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "queue/queue_entry.hpp"
#include "recipes/rules.hpp"

namespace latchkey::detail {

/// One of the locks of a group.
struct group_member {
  std::string path;  ///< as the user calls it; below the chroot
  contender_kind kind = contender_kind::lock;
};

/// Which places a group needs.
enum class group_goal : std::uint8_t {
  all,    ///< granted when every place is let in
  first,  ///< granted when one place is let in; the others are given up
};

/// Told what becomes of a group, with the monitor held; also from inside a call to it.
class group_listener {
 public:
  /// Its time has come, and its lease is fresh.
  virtual void on_granted() = 0;
  /// A try that does not get what it needs. The group is over.
  virtual void on_refused() = 0;
  virtual void on_suspect() = 0;
  /// The grant is lost. The group is over.
  virtual void on_lost(loss_reason why) = 0;
  /// A failure that waiting cannot fix. The group is over.
  virtual void on_failed(const failure& why) = 0;
  virtual void on_asked_to_release() = 0;

 protected:
  ~group_listener() = default;
};

/// A place in each of several queues. One transaction creates them, or none of them; one transaction gives them up.
///
/// | state      | event                                    | then                                                     |
/// |------------|------------------------------------------|----------------------------------------------------------|
/// | over       | start                                    | connecting, or on at once                                |
/// | connecting | connected                                | peeking if it tries once, else queueing                  |
/// | peeking    | goal all: a queue is held                | over, refused                                            |
/// | peeking    | all queues listed                        | queueing in all, or in free ones; over if there is none  |
/// | queueing   | goal all: each place has been let in     | granted, after a proof if none is fresh                  |
/// | queueing   | goal first: a place has been let in      | granted; the other places are given up                   |
/// | queueing   | a place is refused: tries once           | over, refused; goal first: if it was the last one        |
/// | queueing   | goal all: a place is refused or lost     | all are given up, and it starts again, at the end of all |
/// | queueing   | goal first: a place is refused or lost   | another one is created in that queue                     |
/// | granted    | a place is lost                          | the others are given up; over, lost                      |
/// | any        | leave, a failure                         | over                                                     |
///
/// With the monitor held.
class place_group final : public std::enable_shared_from_this<place_group> {
 public:
  /// Most places that a try for the first of several creates.
  static constexpr std::size_t most_tried = 4;

  place_group(std::shared_ptr<client_core> core, const std::vector<group_member>& members, group_goal goal,
              group_listener& listener);

  /// @param number of this client's groups differ: which free queues a try prefers depends on it
  void start(patience how, std::uint64_t number);
  /// Gives up every place. The listener is told nothing more.
  void leave();

  bool granted() const noexcept { return state_ == state::granted; }
  /// @returns whether a place has waited for a contender ahead.
  bool waited() const noexcept;
  /// @returns the places that wait for a contender ahead.
  std::vector<std::size_t> waiting() const;
  // @pre granted
  /// @returns which place was let in last: of goal `first`, the one that it holds.
  std::size_t index() const noexcept { return winner_; }
  /// @returns the absolute paths of the nodes that the grant rests on.
  std::vector<std::string> nodes() const;
  /// @returns a token that is right for each of the queues; see recipes/README.md.
  fencing_token fence() const noexcept;

 private:
  enum class state : std::uint8_t { over, connecting, peeking, queueing, granted };

  class place final : public entry_listener {
   public:
    place(place_group& group, std::size_t index, const group_member& what);
    void make_entry();

    void on_granted() override { group_.on_granted(*this); }
    void on_delayed() override { let_in_ = false; }
    void on_refused() override { group_.on_refused(*this); }
    void on_suspect() override;
    void on_lost(loss_reason why) override { group_.on_lost(*this, why); }
    void on_failed(const failure& why) override { group_.on_failed(why); }
    void on_asked_to_release() override;

    place_group& group_;
    const std::size_t index_;
    const std::shared_ptr<const std::string> path_;  // absolute
    const rule& kind_;
    std::shared_ptr<queue_entry> entry_;  // none: it has no place
    bool let_in_ = false;
    bool free_ = false;  // as a list says
  };

  void begin();
  void peek();
  void on_listed(place& which, const reply& listed);
  std::vector<std::shared_ptr<queue_entry>> choose_free();
  void queue(const std::vector<std::shared_ptr<queue_entry>>& chosen);
  void begin_again();
  void refuse();
  void leave_all_but(const place* kept);
  bool prove_all();
  std::vector<std::shared_ptr<queue_entry>> entries() const;
  bool has_places() const noexcept;

  void on_granted(place& which);
  void on_refused(place& which);
  void on_lost(place& which, loss_reason why);
  void on_failed(const failure& why);

  const std::shared_ptr<client_core> core_;
  const group_goal goal_;
  group_listener& listener_;
  std::vector<std::unique_ptr<place>> places_;
  patience how_ = patience::wait;
  std::uint64_t number_ = 0;
  state state_ = state::over;
  std::uint64_t step_ = 0;        // counts what has been begun; what was under way before is stale
  std::uint64_t connecting_ = 0;  // see `client_core::when_connected`
  std::size_t unlisted_ = 0;      // queues that have not been listed
  std::size_t winner_ = 0;
  bool asked_to_release_ = false;
};

}  // namespace latchkey::detail
