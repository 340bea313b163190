// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Text as a parameter.

#include <concepts>
#include <cstddef>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

namespace latchkey {

/// What a caller gives for a `Text`, `std::string` or `std::string_view`. A null pointer, as of a missing environment
/// variable, is an empty text, which the call refuses. Two texts in braces do not convert, as they do to `std::string`:
/// they would be what is between the one pointer and the other.
template <class Text>
class given_text {
 public:
  /// Of a literal, or of what may be null. Not explicit, as the next one is not.
  given_text(const char* text) : text_{text != nullptr ? Text{text} : Text{}} {}
  /// Of any other text.
  template <class From>
  requires(!std::same_as<std::remove_cvref_t<From>, given_text> && !std::convertible_to<From&&, const char*> &&
           (std::convertible_to<From&&, Text> || std::convertible_to<From&&, std::string_view>)) given_text(From&& text)
      : text_(std::forward<From>(text)) {}
  given_text(std::nullptr_t) = delete;

  /// The text, which is moved out.
  operator Text() && noexcept { return std::move(text_); }
  /// @returns the text.
  const Text& operator*() const noexcept { return text_; }

 private:
  Text text_;
};

}  // namespace latchkey
