// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Spans of time for a tracer: calls that waited for a lock, and grants that held it.

#include <string>
#include <string_view>

#include <latchkey/clock.hpp>
#include <latchkey/export.hpp>
#include <latchkey/fencing_token.hpp>

namespace latchkey {

/// A call that has ended its wait, or a grant that has ended.
struct trace_span {
  /// Whether it waited or held.
  enum class kind { wait, hold };
  /// How it ended: a wait `granted`, `refused`, `timed_out`, `cancelled` or `failed`; a hold `released` or `lost`.
  enum class outcome { granted, refused, timed_out, cancelled, failed, released, lost };

  kind what{};                         ///< whether it waited or held
  outcome how{};                       ///< how it ended
  std::string path{};                  ///< of the lock
  boottime_clock::time_point begin{};  ///< when it began
  boottime_clock::time_point end{};    ///< when it ended
  fencing_token fence{};               ///< of a hold
};

/// @returns the kind in words: "wait" or "hold".
LATCHKEY_EXPORT std::string_view to_string(trace_span::kind what) noexcept;
/// @returns the outcome in words, as "timed out".
LATCHKEY_EXPORT std::string_view to_string(trace_span::outcome how) noexcept;

}  // namespace latchkey
