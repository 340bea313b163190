// SPDX-License-Identifier: Apache-2.0
#pragma once

/// A transaction of a holder: applied only while the node of its grant is there.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <latchkey/transaction.hpp>

#include "base/checked_state.hpp"
#include "bridge/wait_point.hpp"
#include "queue/grant_state.hpp"
#include "session/client_core.hpp"

namespace latchkey::detail {

/// What is to be written.
struct fenced_steps {
  std::vector<step> steps;  ///< with absolute paths
  bool marked = false;      ///< the first of them creates a marker
  bool releases = false;    ///< the node of the grant is deleted along with them, if the grant is exclusive
};

/// One commit, until its outcome is known. Goes on after its caller has stopped waiting, if it may delete the node of
/// the grant: the entry must learn of that.
///
/// | state       | event                                 | then                                                          |
/// |-------------|---------------------------------------|---------------------------------------------------------------|
/// | ready       | connected, grant held                 | sent                                                          |
/// | ready       | grant over                            | fencing off if there is a marker, else over: lock lost        |
/// | ready       | time is over                          | over: unreachable                                             |
/// | sent        | applied                               | over: committed                                               |
/// | sent        | refused by the check of the grant     | fencing off if there is a marker, else over: lock lost        |
/// | sent        | refused by another step               | over: refused; committed if it was the marker                 |
/// | sent        | did not leave                         | ready                                                         |
/// | sent        | answer lost                           | doubtful                                                      |
/// | doubtful    | no marker, and its node is not to go  | over: in doubt                                                |
/// | doubtful    | connected, grant held                 | looking: the leader checks its node, then the marker is read  |
/// | doubtful    | connected, grant over                 | fencing off if there is a marker, else over: in doubt         |
/// | looking     | its node was to go, and is there      | ready                                                         |
/// | looking     | the marker is there                   | over: committed                                               |
/// | looking     | the marker is not, its node is there  | as if its node had been to go                                 |
/// | looking     | the marker is not, its node is gone   | over: lock lost                                               |
/// | looking     | its node is gone, no marker           | over: in doubt                                                |
/// | fencing off | its node has been deleted             | over: by the marker: committed, or lock lost                  |
/// | both        | answer lost                           | doubtful                                                      |
/// | any         | time is over                          | in doubt for the caller                                       |
class fenced_commit final : public std::enable_shared_from_this<fenced_commit> {
 public:
  fenced_commit(std::shared_ptr<grant_state> held, fenced_steps what);

  void start(time_point until);

  /// The caller waits no longer, as when its time is over.
  void stop_waiting() { on_timeout(); }
  /// From anywhere. @returns what is notified when there is an outcome for the caller.
  std::shared_ptr<wait_point> point() { return {shared_from_this(), &point_}; }
  /// @pre there is one. Without the monitor. @throws error unreachable, not_authorized, closed
  commit_result finish() const;

  /// @returns the outcome for the caller; nothing while there is none, and after a failure.
  const std::optional<commit_result>& result() const noexcept { return result_; }
  const std::optional<failure>& failed() const noexcept { return failed_; }

 private:
  enum class state : std::uint8_t { ready, sent, doubtful, looking, fencing_off, over };
  /// The table above, in short.
  // clang-format off
  // to:                   ready  sent   doubtful  looking  fencing_off  over
  static constexpr transitions<6> may_follow{{
      /* ready       */ {false, true,  false,    false,   true,        true},
      /* sent        */ {true,  false, true,     false,   true,        true},
      /* doubtful    */ {false, false, false,    true,    true,        true},
      /* looking     */ {true,  false, true,     false,   false,       true},
      /* fencing_off */ {false, false, true,     false,   false,       true},
      /* over        */ {false, false, false,    false,   false,       false},
  }};
  // clang-format on
  enum class found : std::uint8_t { written, not_written, nothing };

  void go_on();
  void doubt();
  void send();
  void send_again();
  void on_answer(const reply& answer);
  void on_refused(const reply& answer);
  void on_lock_lost(const std::string& gone);
  void look();
  void fence_off();
  void on_fenced_off(const reply& done);
  void on_node_checked(const reply& checked);
  void read_marker();
  void on_marker_read(const reply& read);
  void conclude_by(found what);
  void on_timeout();
  void end_release(bool gone);
  void conclude(commit_result::outcome what);
  void conclude(commit_result what);
  void fail(const failure& why);
  void end();
  void await_connection(duration at_most = duration::max());
  reply_callback then(void (fenced_commit::*what)(const reply&));

  const std::shared_ptr<grant_state> held_;
  client_core& core_;
  const std::string node_;
  const fenced_steps what_;
  checked_state<state, may_follow> state_ = state::ready;
  bool removes_ = false;    // the node goes along, and its holder expects that
  bool node_gone_ = false;  // as seen when looking
  bool was_sent_ = false;
  wait_point point_;
  timer_id timer_;
  std::uint64_t connection_ = 0;
  std::uint64_t epoch_ = 0;
  std::optional<commit_result> result_;
  std::optional<failure> failed_;
};

}  // namespace latchkey::detail
