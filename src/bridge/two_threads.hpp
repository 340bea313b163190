// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Whether the system has the threads that the C client needs: it ends the process where it has not (HAZARDS 37).

namespace latchkey::detail {

/// Makes two threads that are there at the same time, and ends them. @throws std::system_error if one cannot be made
void require_two_threads();

}  // namespace latchkey::detail
