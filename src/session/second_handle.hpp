// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Whether servers that refuse a session let in another.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "session/side_handle.hpp"

namespace latchkey::detail {

/// What a second handle has found out about the session.
enum class second_opinion : std::uint8_t {
  none,                     ///< nothing yet
  session_is_refused,       ///< servers answer others
  authentication_demanded,  ///< of others, too
};

/// A server closes the connection of a client that has seen more transactions than itself: it has lost data, or belongs
/// to another ensemble. It does the same to each client while it has no quorum, or too many connections. A server that
/// demands authentication, or does not take the list of watches, lets the session in and closes the connection without
/// an answer to any request. So a handle that has seen nothing and watches nothing is opened beside that of the session.
/// If it is let in at its first attempt and answered, three times in a row, and each time the session is refused again
/// and again meanwhile, it is the session that the servers do not want. It is closed in between, so that it takes the
/// place of none.
class second_handle final : public side_handle {
 public:
  using side_handle::side_handle;

  /// To be asked now and then while the session is refused.
  /// @param refusals how often that was so far
  /// @param pause after an attempt that was refused, too
  second_opinion look(std::uint64_t refusals, duration pause, const std::vector<std::string>& without);

  /// The session is answered again, or over.
  void give_up();

  static constexpr unsigned times = 3;
  static constexpr std::uint64_t meanwhile = 4;

 private:
  void on_up() override;
  void on_down() override;
  void on_answered(std::uint64_t id, const reply& answer) override;

  void begin(const std::vector<std::string>& without);

  bool asked_ = false;
  reply_code answer_ = reply_code::not_sent;  // to what it has asked; that: nothing yet
  std::optional<std::uint64_t> refusals_;     // of the session, when this handle was answered; nothing before
  unsigned let_in_ = 0;                       // in a row
  time_point not_before_{};
};

}  // namespace latchkey::detail
