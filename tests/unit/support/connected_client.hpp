// SPDX-License-Identifier: Apache-2.0
#pragma once

/// A client whose session has begun.

#include "support/scripted_connector.hpp"

namespace latchkey::testing {

inline constexpr detail::session_info our_session{.id = 7, .timeout = std::chrono::seconds{4}};

/// A client that has been connected, and had an answer.
struct connected_client : scripted_client {
  connected_client() {
    opener->opens();
    opener->connects(our_session);
    ask();
    opener->answers_everything();
  }
  /// A connection on which something is sent and nothing is answered. @returns whether the session is another one now.
  bool in_vain(detail::duration length = std::chrono::seconds{1}) {
    const auto before = opener->openings.size();
    opener->disconnects();
    advance(length / 2);
    if (opener->openings.size() != before) return true;
    opener->connects(our_session);
    ask();
    advance(length / 2);
    return opener->openings.size() != before;
  }
  bool in_vain_often(int times, detail::duration length = std::chrono::seconds{1}) {
    for (int i = 0; i < times; ++i) {
      if (in_vain(length)) return true;
    }
    return false;
  }
};

}  // namespace latchkey::testing
