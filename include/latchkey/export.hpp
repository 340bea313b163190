// SPDX-License-Identifier: Apache-2.0
#pragma once

#if __cplusplus < 202002L
#error "latchkey needs C++20: compile with -std=c++20 or newer"
#include <latchkey/needs_cplusplus_20>  // is not there, so that this is the last error
#endif

/// Marks what a shared latchkey exports; everything else in it is hidden.
#define LATCHKEY_EXPORT [[gnu::visibility("default")]]
