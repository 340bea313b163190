#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Runs a command on a machine that stalls: now and then one of its ZooKeeper servers, or all of its processes, are
# stopped for up to so many ms. A test that fails only then takes the speed of the machine for granted. Grants with a
# session timeout of T may be lost in a stall of T/6.
#
#   tests/with_stalls.sh MS COMMAND...      LATCHKEY_SEED=m: other times
#   tests/with_stalls.sh 300 build/dev/tests/integration/integration_tests
set -euo pipefail

if (($# < 2)) || [[ ! $1 =~ ^[1-9][0-9]*$ ]]; then
  sed -n '3,8s/^# \{0,1\}//p' "${BASH_SOURCE[0]}" >&2
  exit 2
fi
longest=$1
shift
RANDOM=${LATCHKEY_SEED:-1}

descendants() { # pid
  local child
  for child in $(pgrep -P "$1"); do
    printf '%s\n' "$child"
    descendants "$child"
  done
}

# Of the pids given, those that nobody else has stopped, and only the servers when asked.
runs() { [[ -r /proc/$1/stat ]] && [[ $(sed 's/.*) //; s/ .*//' "/proc/$1/stat" 2>/dev/null) =~ [RSD] ]]; }
is_server() { tr '\0' ' ' 2>/dev/null <"/proc/$1/cmdline" | grep -q QuorumPeerMain; }

milliseconds() { printf '%d.%03d' $(($1 / 1000)) $(($1 % 1000)); }

"$@" &
command=$!
stopped=()
resume() {
  ((${#stopped[@]} == 0)) || kill -CONT "${stopped[@]}" 2>/dev/null || true
  stopped=()
}
trap 'resume; kill "$command" 2>/dev/null || true' INT TERM
trap resume EXIT

while kill -0 "$command" 2>/dev/null; do
  sleep "$(milliseconds $((100 + RANDOM % 600)))"
  all=() servers=()
  for pid in $(descendants $$); do
    runs "$pid" || continue
    if is_server "$pid"; then servers+=("$pid"); fi
    all+=("$pid")
  done
  if ((RANDOM % 2 == 0)); then
    stopped=("${all[@]}")
  elif ((${#servers[@]} > 0)); then
    stopped=("${servers[RANDOM % ${#servers[@]}]}")
  fi
  if ((${#stopped[@]} > 0)); then kill -STOP "${stopped[@]}" 2>/dev/null || true; fi
  sleep "$(milliseconds $((1 + RANDOM % longest)))"
  resume
done
wait "$command"
