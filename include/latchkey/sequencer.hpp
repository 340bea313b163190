// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Asking the ensemble whether the holder of a lock, who has sent a request, still has it.

#include <chrono>
#include <memory>
#include <string>
#include <string_view>

#include <latchkey/client.hpp>
#include <latchkey/duration.hpp>
#include <latchkey/export.hpp>
#include <latchkey/fencing_token.hpp>
#include <latchkey/grant.hpp>

namespace latchkey {

namespace detail {
class watched_nodes;
}

/// What a holder sends to a server along with a request, so that the server can check the lock by itself
/// (M. Burrows, "The Chubby lock service for loosely-coupled distributed systems", 2006). A value.
struct sequencer {
  /// The full path of the holder's node, chroot included: the server may use another chroot. Its name is unique, so it
  /// never becomes the node of another contender, nor exists in another ensemble.
  std::string node;
  /// The token of the grant. The ensemble does not know it: `check_sequencer` cannot tell if the sender made it up.
  fencing_token token;

  /// Two sequencers are equal if they are of the same grant.
  friend bool operator==(const sequencer&, const sequencer&) = default;
};

/// @returns the sequencer of a grant, also of a reader's. Does not block.
/// @throws error lock_lost if the grant has ended
LATCHKEY_EXPORT sequencer sequencer_of(const grant& held);

/// @returns whether the lock is held exclusively: false for a reader. The name of the node says so, and
/// `check_sequencer` vouches for the name.
LATCHKEY_EXPORT bool is_exclusive(const sequencer& what) noexcept;

/// @returns `lk1:<token>:<node>`, for a header or an argument: ASCII without spaces. In `<node>` every byte that is not
/// a letter, a digit or one of `-._~/` is `%` and two hexadecimal digits in upper case (RFC 3986, 2.1).
LATCHKEY_EXPORT std::string to_string(const sequencer& what);

/// @returns the sequencer that `to_string` printed. The text may come from anyone.
/// @throws std::invalid_argument for any other text, also if the path is not that of a contender's node
LATCHKEY_EXPORT sequencer parse_sequencer(std::string_view text);

/// Asks a quorum whether the node of a sequencer exists. A server that is cut off cannot answer.
///
/// True: at some moment during the call no contender of another client that has to wait for this one had been granted
/// the lock. That holds for no longer. For an effect that may come late, compare tokens, as `fence_gate` does.
///
/// False: the node is gone, for good. It may outlive the grant: until the session of a holder that was cut off expires,
/// until the deletion that follows a release is done, while the lock lingers, and for the turns of other callers of the
/// same lock object, whose tokens are larger.
///
/// Cost: one transaction, which changes nothing. The client needs the permission r on the node, no lock, and may have
/// any chroot. Suspends the calling fiber, or blocks a plain thread, also through outages, at most `timeout`, or 200 ms
/// if that is not positive.
/// @throws error bad_path (`node` is not the path of a contender's node), unreachable (no answer in time),
///         not_authorized, refused, closed, authentication_failed, session_timeout_refused
[[nodiscard]] LATCHKEY_EXPORT bool check_sequencer(client& through, const sequencer& what,
                                                   saturating<std::chrono::nanoseconds> timeout = std::chrono::seconds{
                                                       10});

/// Checks sequencers that come again and again, mostly without a request.
///
/// The first question about a node goes to a quorum, as in `check_sequencer`, and sets a watch on the node. Further
/// ones are answered from memory until the watch reports a change, the connection is lost or the session ends. They ask
/// the quorum again when the server has answered nothing for a third of the session timeout T.
///
/// What an answer from memory is worth: a node that has gone may look valid for T/3, and for as long as the server of
/// this session does not hear of the deletion (one that is cut off serves for up to `syncLimit` ticks). That turns most
/// former holders away early. It protects no data: use `check_sequencer` or compare tokens for that.
///
/// Limits: the C client cannot remove a watch before its node goes. So no node is dropped for another: while the client
/// watches 256 KiB of paths (some 2500 nodes, its own entries included), further nodes are asked about each time.
///
/// Concurrency: `looks_valid` may be called from any thread and fiber, except from a callback of the client. Callers
/// who ask about one node at the same time share the request.
///
/// Lifetime: may outlive the client.
class LATCHKEY_EXPORT sequencer_cache {
 public:
  /// @param through whose session watches the nodes
  explicit sequencer_cache(client& through);
  ~sequencer_cache();
  sequencer_cache(const sequencer_cache&) = delete;
  sequencer_cache& operator=(const sequencer_cache&) = delete;

  /// Does not wait for an answer from memory; otherwise suspends the calling fiber, or blocks a plain thread, for a
  /// round trip, at most `timeout`, or 200 ms if that is not positive.
  /// @returns whether the node exists, as far as known. False also while there is no connection, and if no answer came
  /// in time.
  /// @throws error as `check_sequencer`, but not unreachable
  [[nodiscard]] bool looks_valid(const sequencer& what,
                                 saturating<std::chrono::nanoseconds> timeout = std::chrono::seconds{10});

 private:
  std::shared_ptr<detail::watched_nodes> places_;
};

}  // namespace latchkey
