#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# How late may the leader's pings be? On three servers with a tick of 2 s the leader's ping thread is stopped, and a follower
# with eight holders is cut off right before the late ping comes. Prints the smallest time between the end of a grant and the
# next, in units of T, for T = 4 s and T = 10 s. Below zero two held the lock. Best with nothing else running.
#
#   tests/integration/stalled_leader.sh [REPETITIONS]     default: 1, in eight minutes
set -euo pipefail

# shellcheck source=tests/setup.sh
source "$(dirname "${BASH_SOURCE[0]}")/../setup.sh"

repetitions=${1:-1}
if [[ ! $repetitions =~ ^[1-9][0-9]*$ ]]; then
  sed -n '3,7s/^# \{0,1\}//p' "${BASH_SOURCE[0]}" >&2
  exit 2
fi

install_packages
configure dev
build dev integration_tests
LATCHKEY_STALLS=$repetitions LATCHKEY_TICK=2000 "$latchkey_root/build/dev/tests/integration/integration_tests" \
  --test-case="how late a leader's pings may be" 2>/dev/null
