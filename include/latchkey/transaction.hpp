// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Writes to ZooKeeper that happen only while a lock is held.

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include <latchkey/client.hpp>
#include <latchkey/duration.hpp>
#include <latchkey/export.hpp>
#include <latchkey/grant.hpp>
#include <latchkey/pending.hpp>

namespace latchkey {

namespace detail {
struct transaction_steps;
}

/// What became of a transaction.
struct [[nodiscard]] commit_result {
  /// How it ended.
  enum class outcome {
    none,       ///< there was no transaction: of a result that nothing has been assigned to
    committed,  ///< all of it has been written
    lock_lost,  ///< nothing has been written: the grant was over, or its node was gone
    refused,    ///< nothing has been written: the ensemble refused one of the steps
    in_doubt,   ///< the answer was lost, or did not come in time: it may have been written, all of it, now or later
  };

  outcome what{};        ///< what became of it
  std::size_t step = 0;  ///< which step was refused: 0 for the first one, `marker` for the node of `once()`
  std::string why{};     ///< ZooKeeper's name of its error, as "ZBADVERSION"; empty unless a step was refused

  /// As a step: the node of `once()`.
  static constexpr auto marker = static_cast<std::size_t>(-1);

  /// @returns whether it has been committed.
  explicit operator bool() const noexcept { return what == outcome::committed; }
};

/// @returns the outcome in words, for a log.
LATCHKEY_EXPORT std::string_view to_string(commit_result::outcome what) noexcept;

/// @returns what became of the transaction, for a log: "committed", or "refused: step 2, ZBADVERSION".
LATCHKEY_EXPORT std::string to_string(const commit_result& result);

/// Writes that the ensemble applies together, and only if the node of the lock is there at that moment. No clock is
/// involved, and no other contender can have been granted the lock before. It costs one request.
///
/// It is for data that is kept in ZooKeeper, in nodes below the chroot of the client. New nodes get its ACL, which for
/// this must have the permissions r and w, in addition to those of locks. All steps together may have 900 KiB.
///
/// Blocking: `commit()` and `commit_and_release()` suspend the calling fiber, or block a plain thread, through outages
/// and at most for the given time. They may be called again: then the same steps are sent once more.
///
/// Concurrency: a value that is moved, not for two threads at once.
///
/// Order: a transaction sees what was committed under all earlier grants of the lock, and is seen by all later ones.
///
/// With a shared grant, the transaction is applied only if no writer has held the lock in between.
class LATCHKEY_EXPORT transaction {
 public:
  /// For `set`, `erase` and `check`: whatever version the node has.
  static constexpr std::int32_t any_version = -1;

  /// @param held a grant of a lock of the same client. It may be over: then `commit()` says `lock_lost`.
  /// @throws error bad_option if it is a grant of another client
  transaction(client& through, grant held);
  /// Moves the steps; a transaction that has been moved from may only be destroyed or assigned to.
  transaction(transaction&& other) noexcept;
  /// As the move constructor.
  transaction& operator=(transaction&& other) noexcept;
  ~transaction();

  // Steps: they are taken in the order of these calls, each finding what the earlier ones have done. Each throws error
  // bad_path for a path that ZooKeeper would refuse, bad_option for the node of the grant, and too_large.

  /// Creates a persistent node. Its parent must be there. One named as an entry (lock-0000000000) at the path of a lock
  /// blocks that lock until it is deleted.
  transaction& create(const std::string& path, std::string data = {}) &;
  /// Replaces the data of a node. @param version that it must have, as told by `read()`
  transaction& set(const std::string& path, std::string data, std::int32_t version = any_version) &;
  /// Deletes a node without children.
  transaction& erase(const std::string& path, std::int32_t version = any_version) &;
  /// Asks that a node is there, with this version.
  transaction& check(const std::string& path, std::int32_t version = any_version) &;

  /// Makes the transaction repeatable, also by another process with a later grant: `marker`, a persistent node, is
  /// created with it. If it is there, the transaction has been committed before, and is not applied again. With a marker
  /// `commit()` is in doubt only if no server answers in time, or the client is closed meanwhile.
  ///
  /// Choose a path that no other transaction uses. Delete the node once no caller waits for the outcome or repeats
  /// the transaction, not earlier. Counts as no step.
  /// @throws error bad_path, also for the root; bad_option if there is a marker already, or a step or the node of the
  /// grant at its path; too_large
  transaction& once(const std::string& marker) &;

  /// Creates a node, as above, with a temporary: `auto both = transaction{...}.create(...).set(...)`.
  transaction create(const std::string& path, std::string data = {}) && {
    return std::move(create(path, std::move(data)));
  }
  /// Replaces data, as above, with a temporary: `auto both = transaction{...}.create(...).set(...)`.
  transaction set(const std::string& path, std::string data, std::int32_t version = any_version) && {
    return std::move(set(path, std::move(data), version));
  }
  /// Deletes a node, as above, with a temporary: `auto both = transaction{...}.create(...).set(...)`.
  transaction erase(const std::string& path, std::int32_t version = any_version) && {
    return std::move(erase(path, version));
  }
  /// Asks that a node is there, as above, with a temporary: `auto both = transaction{...}.create(...).set(...)`.
  transaction check(const std::string& path, std::int32_t version = any_version) && {
    return std::move(check(path, version));
  }
  /// Makes it repeatable, as above, with a temporary: `auto both = transaction{...}.create(...).set(...)`.
  transaction once(const std::string& marker) && { return std::move(once(marker)); }

  /// Sends the steps and waits for what becomes of them. Does not wait if the grant is over and there is no marker, not
  /// even if the client is closed.
  ///
  /// If the answer is lost with the connection, only the marker tells the outcome: without one it is in doubt. With one,
  /// a transaction that was not applied is sent again, at most ten times within some three seconds. So is a release whose
  /// node is still there.
  /// @param timeout for the answer. If it is over before that, the outcome is in doubt: also with zero.
  /// @throws error unreachable if nothing could be sent in time; too_large if it ends each connection on which it is sent;
  /// not_authorized, authentication_failed, data_lost, closed. Then nothing has been written.
  commit_result commit(saturating<std::chrono::nanoseconds> timeout = std::chrono::seconds{10});

  /// As `commit()`, and gives up the place in the queue in the same transaction: one request for both. While it is under
  /// way the grant says that it is not held, since the next contender may be granted the lock before the answer comes.
  /// Once it is committed the grant has ended; `unlock()` must still be called, by the same fiber, and sends nothing. If
  /// it is refused, the lock is held as before. If it is in doubt, the grant is not held until its node is known to be
  /// there.
  ///
  /// If the marker shows that it has been committed before, nothing is released, and the lock is held as before.
  ///
  /// Callers of the same object that wait take a new place in the queue. A `reentrant_mutex` is unlocked as often as it
  /// was locked, before it can be taken again. A shared grant ends with `unlock_shared()` only, as its place may have
  /// other readers, the permits of a `semaphore` end with their guard only, and a `robust_mutex` with its unlock, which its
  /// record goes with: for them this is `commit()`.
  /// @throws error as `commit()`
  commit_result commit_and_release(saturating<std::chrono::nanoseconds> timeout = std::chrono::seconds{10});

 private:
  friend struct detail::asynchronous;

  std::unique_ptr<detail::transaction_steps> steps_;
};

/// The data of a node of ZooKeeper, from which a transaction is computed.
struct stored_value {
  /// The version of no node: a `set` or `check` with it is refused.
  static constexpr std::int32_t no_node = -2;

  bool exists = false;             ///< whether there is such a node
  std::string data{};              ///< all of it
  std::int32_t version = no_node;  ///< how often the data has been replaced
};

/// Reads a node. Under a grant of a lock of the same client it sees everything that was committed under earlier grants,
/// except with `hand_off::direct`.
/// Costs one read. Suspends the calling fiber, or blocks a plain thread, at most `timeout`, or 200 ms if that is not
/// positive.
/// @throws error bad_path, unreachable, not_authorized, authentication_failed, data_lost, closed
LATCHKEY_EXPORT stored_value read(client& through, const std::string& path,
                                  saturating<std::chrono::nanoseconds> timeout = std::chrono::seconds{10});

}  // namespace latchkey
