// SPDX-License-Identifier: Apache-2.0
#pragma once

/// A process that has the read-write lock of the tour when it is told to.

#include <latchkey/client.hpp>

#include "parent_link.hpp"
#include "worker.hpp"

namespace tour {

/// Carries out the orders of the tour, "read", "write", "downgrade" and "unlock", one after the other, until it says
/// stop.
void obey(const worker_options& how, latchkey::client& client, parent_link& link);

}  // namespace tour
