// SPDX-License-Identifier: Apache-2.0
#pragma once

/// The codes of the C client in ours.

#include "bridge/znodes.hpp"

namespace latchkey::detail {

/// @returns what a completion's `rc` says about its request.
reply_code to_reply_code(int rc) noexcept;

/// @returns what the code of one operation of a multi says; those behind the one that failed were not looked at.
reply_code to_operation_result(int rc) noexcept;

}  // namespace latchkey::detail
