// SPDX-License-Identifier: Apache-2.0
#include <latchkey/trace.hpp>

namespace latchkey {

std::string_view to_string(trace_span::kind what) noexcept { return what == trace_span::kind::wait ? "wait" : "hold"; }

std::string_view to_string(trace_span::outcome how) noexcept {
  switch (how) {
    case trace_span::outcome::granted:
      return "granted";
    case trace_span::outcome::refused:
      return "refused";
    case trace_span::outcome::timed_out:
      return "timed out";
    case trace_span::outcome::cancelled:
      return "cancelled";
    case trace_span::outcome::failed:
      return "failed";
    case trace_span::outcome::released:
      return "released";
    case trace_span::outcome::lost:
      return "lost";
  }
  return "unknown";
}

}  // namespace latchkey
