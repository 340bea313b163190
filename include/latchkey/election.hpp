// SPDX-License-Identifier: Apache-2.0
#pragma once

/// One leader among candidates in many processes.

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <stop_token>
#include <string>

#include <latchkey/client.hpp>
#include <latchkey/duration.hpp>
#include <latchkey/export.hpp>
#include <latchkey/given_text.hpp>
#include <latchkey/lockable.hpp>

namespace latchkey {

namespace detail {
class cohort;
}

/// How a candidate shows itself to the others, and what it does after a failure.
struct election_options {
  /// How the nodes are named: as those of Curator's `LeaderLatch`, or of its `LeaderSelector`.
  enum class naming : std::uint8_t { latch, selector };

  /// What the others see of this candidate: `leader::id`, and Curator's `Participant.getId()`. At most 4096 bytes, UTF-8
  /// if Java is to read it. Empty: `client_options::label`, or else the name of the program.
  std::string id{};
  /// The same for all candidates of a path.
  naming as = naming::latch;
  /// How long `run()` stays out of the election after `work` has thrown, so that others are elected.
  saturating<std::chrono::milliseconds> rest_after_failure{std::chrono::seconds{1}};
  /// The group of locks whose numbers it counts for: see `mutex_options::group`.
  std::string group{};
};

/// A candidate in an election. To hold it, as a lock, is to lead.
///
/// `run()` does all that a candidate has to do. `acquire()` and its kin serve as well; the class meets Lockable and
/// TimedLockable, where locking is to be elected, and unlocking to resign. Not recursive. Wire-compatible with Curator's
/// `LeaderLatch` or `LeaderSelector`: see `election_options::naming`.
///
/// Term: the fencing token of the grant. It is the zxid at which the node of the leader was created, so each is larger
/// than every earlier one, and equal to `leader::term`.
///
/// Fairness: candidates lead in the order in which they stand. Callers of one object lead one after another; each
/// stands with a node of its own.
///
/// Candidates of one process end together, so one is enough. A candidate that has waited long for another one of its
/// process is logged with a warning, as with any lock.
///
/// Blocking: see `detail::lockable`. `unlock()` never waits for the ensemble.
///
/// Concurrency: every member may be called from any thread and fiber.
///
/// Lifetime: may outlive the client, and then throws `errc::closed`. The destructor resigns. It must not run while a
/// call waits.
///
/// Loss: the leader learns that its term has ended before another candidate is elected; see `grant`. A leader of Curator
/// may learn of it later.
class LATCHKEY_EXPORT election : public detail::lockable<election> {
 public:
  /// Makes no request. @throws error bad_path, bad_option
  election(client& owner, given_text<std::string> path, election_options options = {});
  ~election();
  election(const election&) = delete;
  election& operator=(const election&) = delete;

  /// Stands, calls `work` each time it is elected, resigns once `work` has returned, and stands again at the end of the
  /// queue; until stop is requested on `stop`. The calling fiber or thread does it all.
  ///
  /// `work` is given its term, and a token on which stop is requested when the term is lost or stop is requested on
  /// `stop`. While it runs it keeps the place, so it must return soon after that. Once a term is lost the ensemble may
  /// elect another candidate, whether `work` has returned or not. With a `warning` stop is requested earlier, when less
  /// than that of the lease is left: see `grant::stop_token(before)`, also for the longest one. `work` resigns by
  /// returning; `unlock()` does nothing there.
  ///
  /// If `work` returns within 100 ms, and stop is not requested on its token, this candidate stays out of the election
  /// for a moment before it stands again: not the first time, then for 10 ms, and each time in a row for twice as long,
  /// up to 1.28 s. The tenth time in a row is logged, once.
  ///
  /// If `work` throws, this candidate resigns, stays out of the election for `election_options::rest_after_failure`, or
  /// until stop is requested or the client closed, and lets the exception out. Call it again to stand again.
  ///
  /// @throws as `lock()`, and what `work` throws; error bad_option for an empty `work`; and, once it is elected,
  /// for a `warning` that is too long
  void run(std::stop_token stop, const std::function<void(const grant& term, std::stop_token stop)>& work,
           saturating<std::chrono::nanoseconds> warning = {});

  /// Resigns. Does not wait for the ensemble: the deletion of the node is sent, and repeated until it is done.
  ///
  /// Called by a fiber that has not locked it, or has a `guard` of it, it does nothing and logs an error.
  void unlock() noexcept;

  /// @returns the term of the caller that leads through this object; an empty grant if none does.
  grant held() const;

  /// @returns the path of the election.
  const std::string& path() const noexcept { return path_; }

  /// @returns what the others see of this candidate.
  const std::string& id() const noexcept { return id_; }

 private:
  friend class detail::lockable<election>;
  friend struct detail::asynchronous;
  bool take(std::chrono::nanoseconds timeout, std::stop_token stop);
  guard take_guard(std::chrono::nanoseconds timeout, std::stop_token stop);
  std::shared_ptr<detail::pending<guard>> begin_guard(std::chrono::nanoseconds timeout, std::stop_token stop);

  std::string path_;
  std::string id_;
  std::chrono::nanoseconds rest_;
  std::shared_ptr<detail::client_core> core_;
  std::shared_ptr<detail::cohort> candidate_;
};

}  // namespace latchkey
