// SPDX-License-Identifier: Apache-2.0
#pragma once

/// What the node `robust-owner` of a lock path says. Pure.

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <latchkey/robust_mutex.hpp>

#include "bridge/znodes.hpp"

namespace latchkey::detail {

/// The child of a lock path that is there while a `robust_mutex` is held, and after its owner has died. No name of a
/// contender.
inline constexpr std::string_view name_of_record = "robust-owner";

/// The longest lock delay.
inline constexpr std::chrono::milliseconds longest_lock_delay = std::chrono::minutes{1};

/// How the owner of a robust place would go if it went now.
enum class way_out : std::uint8_t {
  unlocked,       ///< the record goes with the entry, unless the owner was told of a death and has not put it in order
  abandoned,      ///< the record stays as it is
  held_too_long,  ///< the record says so
};

/// Written by an owner when it is let in, and again if it does not go in order.
struct robust_record {
  bool held = true;                        ///< false: its owner has unlocked, and has left `before` to the next one
  std::string node{};                      ///< the name of the entry of its owner
  dead_owner owner{};                      ///< who wrote it
  std::chrono::milliseconds lock_delay{};  ///< for the next owner, should this one die
  std::optional<dead_owner> before{};      ///< whom its owner was told of

  /// @returns whom the next owner is told of.
  const dead_owner& left_by() const noexcept { return held || !before ? owner : *before; }

  /// @returns whether one owner has written both, or would.
  bool is_by_owner_of(const robust_record& other) const noexcept {
    return node == other.node && owner.fence == other.owner.fence;
  }
  /// @returns for how long `next` waits once it has seen this one: not at all if it is the next run of the same program on
  /// the same host, since nothing of the dead one is under way then.
  std::chrono::milliseconds delays(const robust_record& next) const noexcept;

  /// @returns the data of the node.
  std::string text() const;
  /// @param path of the node @returns what goes along with the entry of its owner.
  std::vector<step> farewell(way_out how, const std::string& path) const;
};

/// @param data of the node, by whomever it was written
/// @returns what it says; what cannot be read is empty.
robust_record read_robust_record(std::string_view data);

/// @returns the request for it. @param path of the node
request read_of_record(std::string path);
/// @param answer to that, `ok`. @returns what it says; what is too long cannot be read.
robust_record read_robust_record(const reply& answer);

}  // namespace latchkey::detail
