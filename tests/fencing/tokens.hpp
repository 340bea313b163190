// SPDX-License-Identifier: Apache-2.0
#pragma once

/// The tokens of two grants, for tests of stores.

#include <latchkey/fencing_token.hpp>

namespace latchkey::testing {

inline constexpr fencing_token older{33, 0};
inline constexpr fencing_token newer{34, 0};

}  // namespace latchkey::testing
