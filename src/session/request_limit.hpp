// SPDX-License-Identifier: Apache-2.0
#pragma once

/// How large a request the servers take, as far as this client has found out. Pure: the time is an argument.

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include <latchkey/export.hpp>

#include "base/repetition.hpp"
#include "bridge/znodes.hpp"

namespace latchkey::detail {

/// What a request has in common with the next attempt at the same: a contender has another name each time.
struct request_shape {
  std::uint64_t of = 0;   ///< its kind, and where its node is
  std::size_t bytes = 0;  ///< about so many are sent

  bool operator==(const request_shape&) const = default;
};

/// @param acl bytes of the ACL that each node gets that it creates
LATCHKEY_EXPORT request_shape shape_of(const request& what, std::size_t acl = 0) noexcept;

/// A server closes the connection of a client that sends more than `jute.maxbuffer`, and answers nothing. The request is
/// sent again with the next connection, and so on for ever.
///
/// The largest request without an answer is blamed when a connection ends soon after it. If nothing as large has ever been
/// answered, or if that request is blamed again, the servers are asked with a handle of its own (`size_question`): until
/// then what is as large is held back. From the refused size on requests fail, and what can be divided stays below half of
/// it. Then they are asked about smaller sizes, until it is known to an eighth what they take. Once a minute a request may
/// have them asked again.
///
/// A request that ends each connection for another reason is held back for a pause that grows; after eleven connections it
/// alone fails, for a minute.
class request_limit {
 public:
  static constexpr duration learned_for = std::chrono::minutes{1};
  /// Smaller requests are not blamed: no `jute.maxbuffer` is so small.
  static constexpr std::size_t least = 64;

  void blame(const request_shape& whom, time_point now) {
    if (whom.bytes < least || fails_for_size(whom.bytes)) return;
    if (doubt_.shape != whom) doubt_ = {.shape = whom};
    if (++doubt_.connections >= 2) {
      const auto pause = doubt_.attempts.next();
      doubt_.refused = !pause;
      doubt_.not_before = now + pause.value_or(learned_for);
    }
    if (whom.bytes > largest_taken_ || doubt_.connections >= 2) ask(whom.bytes);
  }
  /// The servers are to be asked about that size.
  void ask(std::size_t bytes) noexcept { asked_ = asked_ == 0 ? bytes : std::min(asked_, bytes); }

  /// It has been answered.
  void answered(const request_shape& whom) noexcept {
    largest_taken_ = std::max(largest_taken_, whom.bytes);
    if (doubt_.shape == whom) doubt_ = {};
  }
  /// The servers have been asked about that size.
  void taken(std::size_t bytes) noexcept {
    largest_taken_ = std::max(largest_taken_, bytes);
    if (asked_ <= bytes) asked_ = 0;
    if (limit_ <= bytes) limit_ = 0;
    ask_for_more();
  }
  /// @param connections how many of them have ended
  void refused(std::size_t bytes, time_point now, unsigned connections) noexcept {
    limit_ = limit_ == 0 ? bytes : std::min(limit_, bytes);
    learned_at_ = now;
    connections_ = connections + doubt_.connections;
    largest_taken_ = std::min(largest_taken_, limit_ - 1);
    if (asked_ >= limit_) asked_ = 0;
    doubt_ = {};
    ask_for_more();
  }
  /// They could not be asked.
  void unknown() noexcept { asked_ = 0; }

  /// @returns the size about which the servers are to be asked; zero if there is none.
  std::size_t asked() const noexcept { return asked_; }
  /// @returns how many connections have shown that such a request fails; zero if it may be sent.
  unsigned refused_after(const request_shape& whom, time_point now) const noexcept {
    if (fails_for_size(whom.bytes)) return connections_;
    return doubt_.refused && doubt_.shape == whom && now < doubt_.not_before ? doubt_.connections : 0;
  }
  bool fails_for_size(std::size_t bytes) const noexcept { return limit_ != 0 && bytes >= limit_; }
  /// @returns whether the servers are to be asked again because of such a request.
  bool is_old(std::size_t bytes, time_point now) const noexcept {
    return fails_for_size(bytes) && asked_ == 0 && now >= learned_at_ + learned_for;
  }
  /// @returns when it may be sent; the past if there is nothing against it; the end of time if the servers are to be asked.
  time_point held_until(const request_shape& whom) const noexcept {
    const bool fails_in_any_case = fails_for_size(whom.bytes) && asked_ < limit_;
    if (asked_ != 0 && whom.bytes >= asked_ && !fails_in_any_case) return time_point::max();
    return is_doubted() && doubt_.shape == whom ? doubt_.not_before : time_point::min();
  }
  /// @returns whether a request is held back for a sign of life of the server.
  bool is_doubted() const noexcept { return doubt_.connections >= 2 && !doubt_.refused; }
  /// @returns how large a request may be that can be divided.
  std::size_t most(std::size_t otherwise) const noexcept {
    for (const auto each : {asked_, limit_}) {
      if (each != 0) otherwise = std::min(otherwise, each / 2);
    }
    return otherwise;
  }
  /// The size from which on requests fail; zero if there is none.
  std::size_t bytes() const noexcept { return limit_; }

 private:
  /// The request that was blamed last, and how often in a row.
  struct doubt {
    request_shape shape{};
    unsigned connections = 0;
    repetition attempts{};
    time_point not_before{};
    bool refused = false;
  };

  void ask_for_more() noexcept {
    if (asked_ == 0 && limit_ != 0 && limit_ - largest_taken_ > limit_ / 8) asked_ = (largest_taken_ + limit_) / 2;
  }
  std::size_t largest_taken_ = 0;
  std::size_t asked_ = 0;
  std::size_t limit_ = 0;
  time_point learned_at_{};
  unsigned connections_ = 0;
  doubt doubt_;
};

}  // namespace latchkey::detail
