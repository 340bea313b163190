#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# How tests/run.sh counts: counts.sh FOLDER_OF_TESTS. Feeds a report of CTest to count.awk and its result to summary.awk.
set -euo pipefail
tests=$1

# name, status, seconds, more elements, output
entry() {
  printf '\t<testcase name="%s" classname="%s" time="%s" status="%s">\n' "$1" "$1" "$3" "$2"
  if [[ -n $4 ]]; then printf '\t\t%s\n' "$4"; fi
  printf '\t\t<system-out>%s\n</system-out>\n\t</testcase>\n' "$5"
}
doctest() { printf '[doctest] run with "--help" for options\n%s' "$1"; }
cases() { printf '[doctest] test cases: %s | %s passed | %s failed | 0 skipped' "$(($1 + $2))" "$1" "$2"; }

report() {
  printf '<testsuite name="(empty)"\n\ttime="9"\n\t>\n'
  entry "locks: good" run 1.5 '' "$(doctest "$(cases 7 0)")"
  entry "locks: bad" fail 0.5 '<failure message=""/>' "$(doctest "$(cases 5 2)")"
  entry "locks: crashed" fail 1 '<failure message="SIGSEGV"/>' "$(doctest "running: a test")"
  entry "locks: timed out" fail 300 '<failure message="Timeout"/>' "$(doctest "running: a test")"
  entry "locks: exit(0) within" run 0.1 '' "$(doctest "running: a test")"
  entry "script" run 2 '' "done"
  entry "other: script" fail 2 '<failure message=""/>' "wrong"
  entry "other: not there" notrun 0 '<skipped message="Unable to find executable"/>' ""
  entry "other: skips itself" notrun 0 '<skipped message="SKIP_RETURN_CODE=77"/>' ""
  entry "other: disabled" disabled 0 '' ""
  printf '</testsuite>\n'
}

expected='                            suites   passed   failed   seconds
preset ci: built in 60 s, tested in 9 s
  locks                          5       12        5       303
  script                         1        1        0         2
  other                          2        0        2         2
preset asan: not tested
not run: Debian sid: no privileges
FAILED locks: bad: 2 failed
FAILED locks: crashed: 1 failed
FAILED locks: timed out: 1 failed
FAILED locks: exit(0) within: 1 failed
FAILED other: script: 1 failed
FAILED other: not there: 1 failed
FAILED preset asan: the build failed'

printed=$({
  printf 'stage\tci\t60\t9\n'
  report | awk -f "$tests/count.awk" 2>/dev/null | sed 's/^/entry\t/'
  printf 'stage\tasan\t30\nbroken\tasan\tthe build failed\n'
  printf 'platform\tnot run: Debian sid: no privileges\n'
} | awk -f "$tests/summary.awk")
if [[ $printed != "$expected" ]]; then
  diff <(printf '%s\n' "$expected") <(printf '%s\n' "$printed") || true
  exit 1
fi
echo "the counts are right"
