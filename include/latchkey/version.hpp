// SPDX-License-Identifier: Apache-2.0
#pragma once

/// The version of latchkey that a program is compiled with.

#define LATCHKEY_VERSION_MAJOR 0
#define LATCHKEY_VERSION_MINOR 1
#define LATCHKEY_VERSION_PATCH 0

/// One number, for comparisons in `#if`: 10203 means 1.2.3.
#define LATCHKEY_VERSION (LATCHKEY_VERSION_MAJOR * 10000 + LATCHKEY_VERSION_MINOR * 100 + LATCHKEY_VERSION_PATCH)
