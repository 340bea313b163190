# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# Whether the tests have become slower, whatever the machine and whatever runs beside them: the processor time of the build
# and the tests, divided by what it takes here to compile one file and to start one ensemble, must not exceed the figure
# beside this file by more than a half. Processor time, as most of the elapsed time is spent on it, and elapsed time is
# shared with strangers; a half, as the same file has taken 5 to 8 s here, depending on them. To be sourced by
# tests/run.sh. After a change that is worth its minutes, write the new figure into tests/pace/figure.

# Sets spent_ms: what the commands that have ended took of the processors since this shell began, in milliseconds.
# Not to be called by $(): it would ask a shell of its own.
look_at_time_spent() {
  local file
  file=$(mktemp)
  times >"$file"
  spent_ms=$(sed -n '2s/[ms]/ /gp' "$file" | awk '{ printf "%d", ($1 * 60 + $2 + $3 * 60 + $4) * 1000 }')
  rm -f "$file"
}

# command; prints the median of three runs, in milliseconds of the processors.
median_of_three() {
  local i before
  for i in 1 2 3; do
    look_at_time_spent
    before=$spent_ms
    "$@" >/dev/null 2>&1 || return 1
    look_at_time_spent
    echo "$((spent_ms - before))"
  done | sort -n | sed -n 2p
}

compile_one_file() { "${CXX:-c++}" -std=c++20 -O2 -c "$latchkey_root/tests/pace/compiled.cpp" -o /dev/null; }

# Ends when the servers serve; fails if they do not within a minute.
start_one_ensemble() {
  local line='' output pid
  exec {output}< <(exec "$latchkey_root/build/ci/testcluster/latchkey-testcluster" up)
  pid=$!
  read -r -t 60 line <&"$output" || true
  kill "$pid" || true
  wait "$pid" || true
  exec {output}<&-
  [[ -n $line ]]
}

# Before the build, and after it.
calibrate_compilation() { compiled_in=$(median_of_three compile_one_file); }
calibrate_start() { started_in=$(median_of_three start_one_ensemble); }

# milliseconds of the processors for the build and the tests. Fails if that is too much.
check_pace() {
  local figure ratio
  figure=$(<"$latchkey_root/tests/pace/figure")
  ratio=$(($1 / (compiled_in + started_in)))
  echo "pace: $ratio, $figure when the figure was written ($(($1 / 1000)) s of the processors; a file is compiled in $compiled_in ms, an ensemble starts in $started_in ms)"
  ((ratio * 2 <= figure * 3))
}
