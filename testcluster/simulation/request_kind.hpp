// SPDX-License-Identifier: Apache-2.0
#pragma once

/// What requests are for, as tests tell them apart.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "bridge/znodes.hpp"

namespace latchkey::testing {

/// An operation, or what the steps of a transaction are.
class request_kind {
 public:
  constexpr request_kind(detail::operation of) noexcept : number_{static_cast<std::uint8_t>(of)} {}
  static request_kind of(const detail::request& what);

  static const request_kind check;       ///< checks alone: a proof
  static const request_kind remove_all;  ///< deletions alone
  static const request_kind replace;     ///< creates a node, and deletes another one
  static const request_kind requeue;     ///< as `replace`, of a sequential node
  static const request_kind create_all;  ///< creations alone

  constexpr std::size_t index() const noexcept { return number_; }
  static constexpr std::size_t count = static_cast<std::size_t>(detail::operation::transact) + 6;

  friend constexpr bool operator==(request_kind, request_kind) noexcept = default;

 private:
  /// @param beyond all operations
  explicit constexpr request_kind(int beyond) noexcept
      : number_{static_cast<std::uint8_t>(static_cast<int>(detail::operation::transact) + beyond)} {}

  std::uint8_t number_;
};

inline constexpr request_kind request_kind::check{1};
inline constexpr request_kind request_kind::remove_all{2};
inline constexpr request_kind request_kind::replace{3};
inline constexpr request_kind request_kind::requeue{4};
inline constexpr request_kind request_kind::create_all{5};

inline request_kind request_kind::of(const detail::request& what) {
  if (what.kind != detail::operation::transact) return what.kind;
  using each_is = detail::step::operation;
  const auto& steps = what.steps;
  const auto all = [&](each_is kind) {
    return std::all_of(steps.begin(), steps.end(), [&](const auto& each) { return each.what == kind; });
  };
  if (all(each_is::check)) return check;
  if (all(each_is::remove)) return remove_all;
  if (all(each_is::create)) return create_all;
  if (steps.front().what != each_is::create || steps.back().what != each_is::remove) return what.kind;
  return steps.front().mode == detail::create_mode::ephemeral_sequential ? requeue : replace;
}

}  // namespace latchkey::testing
