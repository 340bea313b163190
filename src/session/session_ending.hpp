// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Ending the session of a process that has died.

#include <functional>
#include <utility>

#include "session/session_record.hpp"
#include "session/side_handle.hpp"

namespace latchkey::detail {

/// Is let in to the session with its password, and closes it, as its own client would have done: the ensemble deletes its
/// nodes. It is tried until the ensemble says that there is no such session: an end that was lost on its way is noticed.
/// What the dead process had sent has been carried out before, or never will be.
class session_ending final : side_handle {
 public:
  enum class outcome : std::uint8_t {
    ended,    ///< by this
    expired,  ///< by the ensemble, before
    given_up,
  };

  /// @param told runs once, with the monitor held; must not destroy this
  session_ending(monitor& own, connector& opener, recorded_session whose, std::function<void(outcome)> told)
      : side_handle{own, opener}, whose_{std::move(whose)}, told_{std::move(told)} {}

  /// It is given up when the ensemble must have ended the session by itself.
  void begin();
  void give_up() { conclude(outcome::given_up); }

  const recorded_session& session() const noexcept { return whose_; }

 private:
  void on_up() override;
  void on_down() override {}
  void on_expired() override;
  void on_answered(std::uint64_t, const reply&) override {}
  void on_closed() override;

  void try_again();
  void conclude(outcome how);

  const recorded_session whose_;
  std::function<void(outcome)> told_;
  unsigned let_in_ = 0;
  bool is_over_ = false;
  time_point last_{};
  timer_id timer_;
};

}  // namespace latchkey::detail
