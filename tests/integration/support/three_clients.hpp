// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include <latchkey/shared_mutex.hpp>

#include "support/support.hpp"

namespace latchkey::testing {

/// Three clients, each with a lock object at the same path.
struct three_clients {
  std::string path = fresh_path();
  client first{servers().connect_string(), quick()};
  client second{servers().connect_string(), quick()};
  client third{servers().connect_string(), quick()};
  shared_mutex a{first, path};
  shared_mutex b{second, path};
  shared_mutex c{third, path};
};

}  // namespace latchkey::testing
