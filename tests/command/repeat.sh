#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# repeat.sh PROGRAM [ROUNDS]: the faults under which a command must be dead before another contender has its lock, ROUNDS
# times each (50 without the argument; a round takes about a minute). PROGRAM is command_tests. Prints the least margin
# of all, and ends with 1 at the first failure. Too long for each change: for the night.
set -euo pipefail

program=${1:?the program command_tests}
rounds=${2:-50}
log=$(mktemp)
margins=
trap 'rm -f "$log"' EXIT

for ((round = 1; round <= rounds; ++round)); do
  if ! "$program" --test-case='the command is dead before the next*,a run that is stopped*' > "$log" 2>&1; then
    cat "$log"
    echo "round $round of $rounds failed"
    exit 1
  fi
  margins+=$(sed -n 's/.*older than the first of the second by \([0-9-]*\) us.*/\1 /p' "$log")$'\n'
  least=$(sort -n <<< "$margins" | sed '/^$/d' | head -n 1)
  echo "round $round of $rounds passed; the least margin so far: $least us of $(sed '/^$/d' <<< "$margins" | wc -l) faults"
done
