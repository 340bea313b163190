#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The attacks of the suite "held back" while the machine is overloaded and the leaders' pings are late: six ensembles at once
# on two processors. The clients of three know the servers' tick. Prints what was left between a grant and the next, which
# is negative if two held the lock, and how late the leaders sent their pings. Fails if a client that knows the tick overlapped.
#
#   tests/integration/held_back_under_load.sh [MINUTES]     default: 30
set -euo pipefail

# shellcheck source=tests/setup.sh
source "$(dirname "${BASH_SOURCE[0]}")/../setup.sh"

minutes=${1:-30}
if [[ ! $minutes =~ ^[1-9][0-9]*$ ]]; then
  sed -n '3,7s/^# \{0,1\}//p' "${BASH_SOURCE[0]}" >&2
  exit 2
fi

tick=500 # of the tests
program=${LATCHKEY_INTEGRATION_TESTS:-} # built already
if [[ -z $program ]]; then
  install_packages
  configure dev
  build dev integration_tests
  program=$latchkey_root/build/dev/tests/integration/integration_tests
fi
output=$(mktemp -d)
trap 'rm -rf "$output"' EXIT

# The folders of the servers that a process has started.
servers_of() {
  local pid
  for pid in $(pgrep -P "$1" java); do
    dirname "$(tr '\0' '\n' 2>/dev/null <"/proc/$pid/cmdline" | tail -n 1)"
  done
}

# Lets the servers in a folder log pings, and nothing else of what LearnerHandler traces.
trace_pings() {
  local port answer
  port=$(sed -n 's/^clientPort=//p' "$1/zoo.cfg") || return
  answer=$({ exec 9<>"/dev/tcp/127.0.0.1/$port" && printf 'stmk\0\0\0\0\0\0\0\x80' >&9 && cat <&9; } 2>/dev/null) || return
  [[ $answer == 128 ]]
}

# name, tick that the clients are told
attack() {
  local pid server servers=()
  while ((SECONDS < minutes * 60)); do
    LATCHKEY_SERVER_TICK=$2 LATCHKEY_KEEP_DATA=1 LATCHKEY_REPETITIONS=5 "$program" --test-suite='held back' >>"$output/$1.$2" 2>/dev/null &
    pid=$!
    until mapfile -t servers < <(servers_of "$pid") && ((${#servers[@]} == 3)); do sleep 0.1; done
    for server in "${servers[@]}"; do
      until trace_pings "$server" || ! kill -0 "$pid" 2>/dev/null; do sleep 0.1; done
    done
    wait "$pid" || true # judged by what it has printed
    for server in "${servers[@]}"; do
      grep ' o PING ' "$server/log" | sed "s|^|$pid$server |" >>"$output/pings" || true
    done
    rm -rf "${servers[0]%/*}"
  done
}

heading "held back under load, for $minutes minutes"
export JAVA_TOOL_OPTIONS=-Dorg.slf4j.simpleLogger.log.org.apache.zookeeper.server.quorum.LearnerHandler=trace
taskset -pc 0,1 $$ >/dev/null || true
for i in 1 2 3; do
  attack "$i" 0 &
  attack "$i" "$tick" &
done
wait

# what, files
margins() {
  local what=$1
  shift
  awk -v what="$what" '/^ +-?[0-9.]+ ms/ { ++n; if (n == 1 || $1 < least) least = $1; if ($1 <= 0) ++overlaps }
    END { printf "%s: %d attacks, %d overlapped, least margin %.1f ms\n", what, n, overlaps, least; exit overlaps > 0 || n == 0 }' "$@"
}
margins "the tick is not known" "$output"/?.0 || true
awk -v half="$((tick / 2))" '{ split($2, t, ":"); now = ((t[1] * 60 + t[2]) * 60 + t[3]) * 1000; who = $1 $3
    if (who in last) { late = now - last[who] - half; ++n; if (late > 45) ++some; if (late > 250) ++much; if (late > most) most = late }
    last[who] = now }
  END { printf "%d pings, %d more than 45 ms late, %d more than 250 ms, %d ms at most\n", n, some, much, most }' "$output/pings"
margins "the tick is known" "$output"/?."$tick"
