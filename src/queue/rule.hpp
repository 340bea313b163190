// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Who waits for whom, as data: a recipe has one rule for each kind of contender in its queue.

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace latchkey::detail {

/// A kind of contender. Constant, with static storage duration.
struct rule {
  std::string_view name;     ///< in the record of an entry
  std::string_view marker;   ///< of the nodes that we create: between the uuid and the number
  std::string_view foreign;  ///< of nodes that other clients create; may be empty
  /// Those that must go before it is let in, if they are ahead. Mutual: of those behind, the same wait for it.
  std::span<const rule* const> waits_for;
  /// What it may become in its own place, under its own number; null: nothing.
  const rule* downgraded = nullptr;
  /// Children of the path, all of which are there if it is used in a way that this kind does not exclude.
  std::span<const std::string_view> foreign_use{};
  /// A contender of this kind in the first of them shows that it is.
  const rule* foreign_kind = nullptr;
  std::string_view foreign_name{};  ///< of that use

  /// @returns whether no two of this kind are let in together.
  bool exclusive() const noexcept { return waits_for_kind(*this); }

  /// @returns whether it waits for contenders of kind `other` that are ahead.
  bool waits_for_kind(const rule& other) const noexcept;

  /// @returns whether what it waits for may be there again, as another kind, when it has gone.
  bool may_be_back(const rule& gone) const noexcept {
    return gone.downgraded != nullptr && waits_for_kind(*gone.downgraded);
  }

  /// @param of the name of a child. @returns the number of a contender of this kind; nothing for any other name.
  std::optional<std::uint32_t> number(std::string_view of) const noexcept;
};

/// A contender that another one waits for.
struct rival {
  std::uint32_t number = 0;
  const rule* kind = nullptr;
};

/// @returns the contender with this name, if `mine` waits for it when it is ahead; nothing for any other name.
std::optional<rival> rival_of(const rule& mine, std::string_view name) noexcept;

/// @returns the name of a new entry up to its number, "_c_<uuid>-<marker>", as Curator's protected nodes.
std::string entry_prefix(std::string_view uuid, const rule& kind);

}  // namespace latchkey::detail
