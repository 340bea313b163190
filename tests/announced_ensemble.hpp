// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Which servers a test has run with: the first line that it prints once they run.

#include <cstdio>
#include <utility>

#include <latchkey/testing/ensemble.hpp>

namespace latchkey::testing {

class announced_ensemble : public ensemble {
 public:
  explicit announced_ensemble(ensemble_options how = {}) : ensemble{std::move(how)} {
    std::printf("servers: ZooKeeper %s\n", admin(0).srvr().version.c_str());
  }
};

}  // namespace latchkey::testing
