// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Whether the servers take a request of some size.

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "session/side_handle.hpp"

namespace latchkey::detail {

/// The request that asks is a read of a node that cannot be there, with a path as long as the size says: the server looks
/// at the size before anything else. A connection that has answered a sync, and then ends with that read, is one that has
/// ended for its size; after six of these in a row it was no coincidence. The session and its lease have no part in it.
class size_question final : public side_handle {
 public:
  enum class verdict : std::uint8_t { taken, refused, unknown };
  using answer_callback = std::function<void(verdict)>;

  using side_handle::side_handle;

  /// @param patience after which nothing is known
  /// @param answer runs once, not within this call. @pre !is_asking()
  void ask(std::size_t bytes, duration patience, const std::vector<std::string>& without, answer_callback answer);
  bool is_asking() const noexcept { return static_cast<bool>(answer_); }
  void give_up();

  static constexpr unsigned times = 6;

 private:
  enum class step : std::uint8_t { offline, greeting, asking };

  void on_up() override;
  void on_down() override;
  void on_answered(std::uint64_t id, const reply& answer) override;
  void on_closed() override;
  void conclude(verdict what);

  std::size_t bytes_ = 0;
  std::vector<std::string> without_;
  answer_callback answer_;
  step step_ = step::offline;
  unsigned ended_ = 0;  // in a row
  timer_id deadline_;
  timer_id opening_;
};

}  // namespace latchkey::detail
