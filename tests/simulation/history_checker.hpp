// SPDX-License-Identifier: Apache-2.0
#pragma once

/// What a history of calls on locks must have been like. Pure: it reads what was written down.

#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include <latchkey/fencing_token.hpp>

#include <latchkey/transaction.hpp>

#include "base/deadline.hpp"
#include "recipes/rules.hpp"

namespace latchkey::testing {

/// One call: for a lock, for a place in its queue, or to become a reader.
struct call_record {
  enum class outcome { waiting, granted, refused, failed };

  unsigned lock = 0;
  unsigned client = 0;
  unsigned object = 0;  ///< the lock object
  detail::contender_kind kind{};
  bool in_turn = true;        ///< calls of one object and kind are let in as they came
  bool once = false;          ///< a try
  std::uint32_t permits = 1;  ///< of a semaphore
  bool cancelled = false;
  std::uint64_t entered = 0;  ///< the instant, counted in steps of the simulation: calls at one time have an order, too
  detail::time_point entered_at;
  detail::time_point deadline = detail::never;  ///< by which it must return; later when its process was stopped
  detail::time_point finished_at;
  outcome what = outcome::waiting;
  std::string failure;
  bool may_fail = false;  ///< its client has been closed, or what it was about is lost
};

/// When a grant may be wrong, since an operator has deleted the node on which it rests.
struct excuse {
  detail::time_point from;
  detail::time_point until;

  bool covers(detail::time_point begin, detail::time_point end) const noexcept { return from <= begin && end <= until; }
};
using excuses = std::vector<excuse>;

/// One period of ownership.
struct grant_record {
  static constexpr auto not_unlocked = std::numeric_limits<std::uint64_t>::max();

  unsigned lock = 0;
  unsigned client = 0;
  std::size_t call = 0;  ///< its place among the calls
  detail::contender_kind kind{};
  fencing_token fence;
  std::int64_t place = 0;        ///< tells places with one token apart; 0: there is only one
  std::uint64_t granted = 0;     ///< the instant
  std::uint64_t last_valid = 0;  ///< the last instant at which it was valid
  std::uint64_t unlocked = not_unlocked;
  detail::time_point granted_at;
  detail::time_point held_from;  ///< at the latest, by the clock of its process: what `max_hold` counts from
  detail::time_point last_valid_at;
  std::optional<std::size_t> downgraded_from;  ///< of a reader that was a writer: which grant
  bool node_missing = false;                   ///< its node was not there when it was granted
  bool outlived_node = false;  ///< it was valid when its node went: somebody else could have been granted the lock
  bool sees_old_data = false;  ///< it came after a quorum was asked, and its server lacks what was written before
  unsigned overtaken = 0;      ///< nodes ahead, then, that it must not pass
  std::uint32_t turns = 1;     ///< how many grants of a writer's place may follow once somebody is known to wait
  /// The places behind that must have been known to wait for this one by then, and for long enough.
  std::vector<std::int64_t> kept_waiting;
  std::uint32_t permits = 1;                   ///< that it has
  std::uint32_t of = 1;                        ///< how many there are; of other locks 1
  detail::duration max_hold{};                 ///< for how long it may last; zero: for ever
  std::optional<detail::time_point> ended_at;  ///< when it was lost since it had lasted so long
  bool outstayed = false;                      ///< it was valid after that time
  bool robust = false;                         ///< of a robust lock
  std::optional<fencing_token> told_of{};      ///< that of whom its caller was told to be dead
  bool recovered = false;                      ///< it said so
  bool in_order = false;                       ///< it was not lost before it was unlocked
  bool asked_to_release = false;               ///< its caller saw that, when it unlocked
  excuses excused;                             ///< operators deleted nodes: nobody can know of that at once

  bool deleted() const noexcept { return !excused.empty(); }
  bool is_excused(detail::time_point begin, detail::time_point end) const noexcept {
    return std::any_of(excused.begin(), excused.end(), [=](const excuse& each) { return each.covers(begin, end); });
  }
};

/// One transaction under a grant, which writes its number.
struct commit_record {
  unsigned lock = 0;
  std::size_t grant = 0;
  fencing_token fence;
  bool reads = false;   ///< the grant is that of a reader
  bool marked = false;  ///< it has a marker
  std::optional<commit_result::outcome> what{};
  bool failed = false;  ///< with an error in place of an outcome
};

/// One transaction that the ensemble has taken.
struct write_record {
  std::size_t commit = 0;  ///< its number
  detail::time_point time;
};

/// What the ensemble has taken of robust locks, in its order.
struct robust_record_change {
  enum class change {
    named,        ///< the record names an owner
    left,         ///< the node of an owner was deleted by its own session
    died,         ///< it went otherwise
    forgotten,    ///< the record went without its owner: an operator has deleted it
    overwritten,  ///< by somebody else
    restored,     ///< by its owner, who has held it for too long, and leaves
  };

  change what{};
  unsigned lock = 0;
  fencing_token owner{};  ///< that of its first turn
};

struct history_log {
  std::vector<call_record> calls;
  std::vector<grant_record> grants;
  std::vector<commit_record> commits;
  std::vector<write_record> writes;  ///< in the order of the ensemble
  std::vector<robust_record_change> robust;
  std::vector<std::string> leftovers;  ///< what was still there when all was done
  std::int64_t killed = 0;             ///< the session of a process that was killed; 0: it had none
  bool ended_early = false;            ///< by its next run: sooner than the ensemble would have
};

/// @returns what tells it from others, for a sentence.
std::string name(const grant_record& grant);

/// @returns a sentence for each promise that the history breaks; nothing for a good one.
std::vector<std::string> violations(const history_log& log);

}  // namespace latchkey::testing
