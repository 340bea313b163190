// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include <latchkey/fair_mutex.hpp>

#include "support/support.hpp"

namespace latchkey::testing {

/// A lock that another client holds, and ours.
struct held_by_another {
  std::string path = fresh_path();
  client other{servers().connect_string(), quick()};
  client owner{servers().connect_string(), quick()};
  fair_mutex theirs{other, path};
  guard held = theirs.acquire();
  fair_mutex lock{owner, path};
};

}  // namespace latchkey::testing
