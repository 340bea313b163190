// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Marks what a shared test cluster exports; everything else in it is hidden.
#define LATCHKEY_TESTING_EXPORT [[gnu::visibility("default")]]
