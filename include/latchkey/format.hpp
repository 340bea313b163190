// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Values of latchkey as text, for streams, for std::format (where the standard library has it), and for fmt (include
/// fmt before this header). The text is that of `to_string`; width and alignment are those of strings.

#include <concepts>
#include <ostream>
#include <string_view>
#include <version>

#ifdef __cpp_lib_format
#include <format>
#endif

#include <latchkey/client.hpp>
#include <latchkey/fencing_token.hpp>
#include <latchkey/grant.hpp>
#include <latchkey/log.hpp>
#include <latchkey/queue_snapshot.hpp>
#include <latchkey/sequencer.hpp>
#include <latchkey/transaction.hpp>

namespace latchkey {

namespace detail {

template <class T, class... Those>
concept one_of = (std::same_as<T, Those> || ...);

/// The types that this header prints with `to_string`.
template <class T>
concept printable =
    one_of<T, fencing_token, grant, loss_reason, queue_snapshot, contender::kind, client_event::kind, log_level,
           sequencer, trace_span::kind, trace_span::outcome, commit_result, commit_result::outcome>;

}  // namespace detail

/// Writes `to_string(what)`.
template <detail::printable T>
std::ostream& operator<<(std::ostream& out, const T& what) {
  return out << std::string_view{to_string(what)};
}

}  // namespace latchkey

#ifdef __cpp_lib_format
template <latchkey::detail::printable T>
struct std::formatter<T> : std::formatter<std::string_view> {
  template <class Context>
  auto format(const T& what, Context& context) const {
    return std::formatter<std::string_view>::format(to_string(what), context);
  }
};
#endif

#ifdef FMT_VERSION
template <latchkey::detail::printable T>
struct fmt::formatter<T> : fmt::formatter<fmt::string_view> {
  template <class Context>
  auto format(const T& what, Context& context) const {
    const auto& text = to_string(what);
    return fmt::formatter<fmt::string_view>::format({text.data(), text.size()}, context);
  }
};
#endif
