// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Which error a call fails with.

#include <system_error>

namespace latchkey::testing {

/// @returns the code of the error that `call` throws; none when it does not.
template <class Callable>
std::error_code error_of(Callable call) {
  try {
    static_cast<void>(call());
  } catch (const std::system_error& failure) {
    return failure.code();
  }
  return {};
}

}  // namespace latchkey::testing
