// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace latchkey::testing {

/// What every step does by which a test observes or goes on: with LATCHKEY_LATE=n in the environment it comes up to n
/// ms late, one time in three (LATCHKEY_SEED=m: other times), as on a busy machine. A test that fails only then takes
/// its own speed for granted. Other fibers of this thread go on meanwhile.
void be_late();

/// Lets other fibers of this thread run, and the rest of the machine: a step of a poll, never a proof.
/// @throws called_off when an actor of the test has failed
void pause();

}  // namespace latchkey::testing
