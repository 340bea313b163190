// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Marks what a shared latchkey exports; everything else in it is hidden.
#define LATCHKEY_EXPORT [[gnu::visibility("default")]]
