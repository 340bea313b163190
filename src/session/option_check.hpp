// SPDX-License-Identifier: Apache-2.0
#pragma once

/// What a client is given as its options.

#include <latchkey/client_options.hpp>

namespace latchkey::detail {

/// Caps durations so that adding them cannot overflow. @throws error bad_option for what no client can have
void check(client_options& options);

}  // namespace latchkey::detail
