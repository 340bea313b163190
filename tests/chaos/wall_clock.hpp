// SPDX-License-Identifier: Apache-2.0
#pragma once

/// The wall clock of this process.

#include <chrono>

namespace chaos {

/// From now on `CLOCK_REALTIME`, as this process and its libraries read it, is so far from the true one. From any thread.
void shift_wall_clock(std::chrono::milliseconds by) noexcept;

}  // namespace chaos
