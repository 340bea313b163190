// SPDX-License-Identifier: Apache-2.0
#pragma once

/// How long a lock stood still.

#include <vector>

#include "periods.hpp"

namespace chaos {

/// @returns for how long after `instant` a lock was wanted and not granted: zero when it was held then, or when nobody
/// called for it.
clock::duration pause_after(clock::time_point instant, const std::vector<period>& of_lock,
                            const std::vector<call>& calls);

}  // namespace chaos
