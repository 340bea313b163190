#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Installs what is missing, builds, runs the tests. The last line is "<n> passed, <n> failed", in test cases.
#
#   tests/run.sh [--plain | --short] [--pace] [--servers] [--asan] [--tsan] [--on SUITE] [LABEL...]
#
#   --plain   all tests, without sanitizers; the default
#   --servers after --plain: integration and testcluster again, with other servers (tests/platforms/servers.sh)
#   --pace    after --plain: fails if the tests have become slower (tests/pace/pace.sh)
#   --asan    the tests unit and integration, under ASan and UBSan; so does LATCHKEY_SANITIZE=1
#   --tsan    the tests without fibers, under TSan
#   --short   instead of all tests those with the label short: what another system may change
#   --on SUITE  the short form on another Debian, at last; see tests/platforms/run.sh
#   LABEL     only tests with this label: unit, integration, interop, testcluster, package, model, chaos, ...
#
# With LATCHKEY_LONG in the environment, as in CI, tests that repeat something at random do so more often.
#
# Options may be combined: each names a stage, and the stages run in the order above. While the tests of one run, the next
# is built. A stage that cannot be built counts as one failure, and the next one begins. With CI=true warnings are errors.
#
# Everything a stage wrote is kept in build/<preset>/: build.log, tests.log, tests.xml. The presets are ci, asan, tsan.
set -euo pipefail

# shellcheck source=tests/setup.sh
source "$(dirname "${BASH_SOURCE[0]}")/setup.sh"
# shellcheck source=tests/pace/pace.sh
source "$latchkey_root/tests/pace/pace.sh"

passed=0
failed=0
results=$(mktemp) # for tests/summary.awk
ahead=            # the process that builds the next preset meanwhile
not_run=()        # what this machine cannot run, each a sentence
verdict_is_due=

finish() {
  local status=$?
  if [[ -n $verdict_is_due ]]; then
    # Only a script that has been ended gets here before a stage has passed or failed.
    if ((status != 0 && failed == 0)); then failed=1; fi
    heading summary
    awk -f "$latchkey_root/tests/summary.awk" "$results"
    for reason in "${not_run[@]}"; do echo "NOT RUN: $reason"; done
    printf '\n%d passed, %d failed\n' "$passed" "$failed"
    if ((failed > 0 || passed == 0)); then status=1; fi
  fi
  rm -f "$results"
  if [[ -n $ahead ]]; then kill -- "-$ahead" 2>/dev/null || true; fi
  exit "$status"
}
trap finish EXIT
trap 'exit 1' INT TERM

# A record for tests/summary.awk.
record() {
  local IFS=$'\t'
  printf '%s\n' "$*" >>"$results"
}

# What keeps the tests of a preset from running is a failure too, and is counted: preset, sentence
broken() {
  record broken "$@"
  failed=$((failed + 1))
}

# Passes on the messages of compilers. Of ninja's lines "[3/240] ..." only the newest on a terminal, else one every 20 s.
show_progress() {
  local line next=0 dirty=
  while IFS= read -r line; do
    if [[ ! $line =~ ^\[[0-9]+/[0-9]+\]\  ]]; then
      printf '%s%s\n' "$dirty" "$line"
      dirty=
    elif [[ -t 1 ]]; then
      printf '\r\e[K%s' "${line:0:100}"
      dirty=$'\r\e[K'
    elif ((SECONDS >= next)); then
      printf '%s\n' "$line"
      next=$((SECONDS + 20))
    fi
  done
  printf '%s' "$dirty"
}

# preset -> its labels, one a line.
labels_of() { ctest --test-dir "$latchkey_root/build/$1" --print-labels 2>/dev/null | sed -n 's/^  //p'; }

# preset, label
has_label() { [[ $'\n'$(labels_of "$1")$'\n' == *$'\n'"$2"$'\n'* ]]; }

# preset; ends the script if a label is not one.
check_labels() {
  local label
  for label in "${labels[@]}"; do
    if ! has_label "$1" "$label"; then
      echo "no test of the preset $1 has the label '$label'; the labels are: $(labels_of "$1" | paste -sd ' ')" >&2
      verdict_is_due=
      exit 2
    fi
  done
}

# preset, then the targets.
compile() {
  local preset=$1 log="$latchkey_root/build/$1/build.log"
  shift
  build "$preset" "$@" 2>&1 | tee "$log" | show_progress && return
  echo "the build of the preset $preset failed: see $log" >&2
  return 1
}

# preset, seconds that its build took, then CTest's options that choose the tests. Not the first run of a preset: $part names it.
run_tests() {
  local preset=$1 built_in=$2 folder="$latchkey_root/build/$1" start=$SECONDS outcome=0 p=0 f=0 name=${part:-tests}
  shift 2
  heading "running the tests of the preset $preset${part:+, with $part}"
  rm -f "$folder/$name.xml"
  # The sizes: CTest would shorten the output that is counted.
  # More than there are processors: the entries of the four lanes of servers mostly wait (tests/doctest_test.cmake).
  ctest --test-dir "$folder" --parallel "$(($(nproc) + 3))" --output-on-failure --no-tests=error "$@" \
    --output-junit "$folder/$name.xml" --test-output-size-passed 100000000 --test-output-size-failed 100000000 || outcome=$?
  cp -f "$folder/Testing/Temporary/LastTest.log" "$folder/$name.log" 2>/dev/null || true
  record stage "$preset${part:+, $part}" "$built_in" "$((SECONDS - start))"
  if [[ -f $folder/$name.xml ]]; then
    awk -f "$latchkey_root/tests/count.awk" "$folder/$name.xml" >"$folder/$name.counts"
    sed 's/^/entry\t/' "$folder/$name.counts" >>"$results"
    read -r p f < <(awk -F '\t' '{ p += $2; f += $3 } END { print p + 0, f + 0 }' "$folder/$name.counts")
  fi
  passed=$((passed + p))
  failed=$((failed + f))
  if ((outcome != 0)); then
    # What doctest and the sanitizers say of a failure, each with what follows.
    (grep -h -A 2 -E '(^|[ =])ERROR: ' "$folder/$name.log" || true) | sed -n '1,90s/^/said\t/p' >>"$results"
  fi
  # CTest has the last word on whether something failed.
  if ((outcome != 0 && f == 0)); then broken "$preset" "CTest failed with exit code $outcome"; fi
  echo "the full log is $folder/$name.log"
}

# What CTest is asked for when labels are given: preset's tests with one of them.
with_labels() { printf -- '--label-regex\n^(%s)$\n' "$(printf '%s\n' "${labels[@]}" | paste -sd '|')"; }

# While the tests of one preset run, and mostly wait, the next preset is built with what they leave of the processors.
build_ahead() {
  local -n of_cmake="${1}_options" of_build="${1}_targets"
  mkdir -p "$latchkey_root/build/$1"
  # A process group of its own, so that it can be ended as a whole. Not a session of its own: the kernel may give each
  # session an equal share (autogroup), and `nice` would count within it only.
  set -m
  # shellcheck disable=SC2016 # its own arguments
  nice -n 19 bash -c 'root=$0 preset=$1 targets=$2; shift 2
    cmake -S "$root" --preset "$preset" "$@" && cmake --build "$root/build/$preset" --parallel 1 --target $targets' \
    "$latchkey_root" "$1" "${of_build[*]}" "${of_cmake[@]}" >"$latchkey_root/build/$1/ahead.log" 2>&1 </dev/null &
  ahead=$!
  set +m
}

# preset, and the next one, if any. The options of CMake, the targets, and CTest's options are in arrays named after it.
stage() {
  local preset=$1 next=${2:-} start=$SECONDS
  local -n of_cmake="${1}_options" of_build="${1}_targets" of_ctest="${1}_chosen"
  if [[ -n $ahead ]]; then wait "$ahead" || true; fi # whatever failed fails again, and is told
  ahead=
  look_at_time_spent
  local spent_before=$spent_ms
  if ! configure "$preset" "${of_cmake[@]}"; then
    record stage "$preset" "$((SECONDS - start))"
    broken "$preset" "CMake failed"
    return
  fi
  check_labels "$preset"
  if ! compile "$preset" "${of_build[@]}"; then
    record stage "$preset" "$((SECONDS - start))"
    broken "$preset" "the build failed, see build/$preset/build.log"
    return
  fi
  if [[ $preset == ci && -n $pace ]]; then calibrate_start; fi
  if [[ -n $next ]]; then build_ahead "$next"; fi
  run_tests "$preset" "$((SECONDS - start))" "${of_ctest[@]}"
  if [[ $preset == ci && -n $pace ]]; then
    look_at_time_spent
    check_pace "$((spent_ms - spent_before))" || broken "$preset" "the tests have become slower, see tests/pace/pace.sh"
  fi
}

# The short form on another Debian: suite. Where that system cannot be had, the summary says so.
stage_on() {
  local suite=$1 log="$latchkey_root/build/platforms/$1.log" verdict
  heading "Debian $suite"
  mkdir -p "${log%/*}"
  "$latchkey_root/tests/platforms/run.sh" --short "$suite" 2>&1 | tee "$log" || true
  verdict=$(tail -n 1 "$log")
  if [[ $verdict =~ ^([0-9]+)\ passed,\ ([0-9]+)\ failed$ ]]; then
    passed=$((passed + BASH_REMATCH[1]))
    failed=$((failed + BASH_REMATCH[2]))
    record platform "Debian $suite: $verdict"
    (grep '^FAILED ' "$log" || true) | sed 's/^/said\t/' >>"$results"
  elif [[ $verdict == "not run: "* ]]; then
    record platform "$verdict"
  else
    broken "$suite" "it ended without a verdict, see build/platforms/$suite.log"
  fi
}

# The arrays of each stage.
# shellcheck disable=SC2034 # `stage` gets their names
prepare() {
  ci_options=(-DLATCHKEY_BUILD_TESTS=ON -DLATCHKEY_BUILD_INTEROP_TESTS=ON -DLATCHKEY_BUILD_EXAMPLES=ON)
  ci_targets=(all all_verify_interface_header_sets)
  ci_chosen=(--label-exclude '^bench$') # they measure; nothing can fail
  if [[ ${CI:-} != true ]]; then ci_chosen=(--label-exclude '^(bench|compilers)$'); fi # minutes for compilers alone
  # Only CI insists on no warnings: a newer compiler than ours has new ones.
  if [[ ${CI:-} == true ]]; then ci_options+=(-DCMAKE_COMPILE_WARNING_AS_ERROR=ON); else ci_options+=(-DCMAKE_COMPILE_WARNING_AS_ERROR=OFF); fi

  if [[ -n $short ]]; then
    ci_options+=(-DLATCHKEY_BUILD_INTEROP_TESTS=OFF)
    ci_targets=(short_tests)
    ci_chosen=(--label-regex '^short$')
  fi

  # Minutes: the command is built on the public headers, and its tests are of processes.
  asan_options=(-DLATCHKEY_BUILD_EXAMPLES=OFF -DLATCHKEY_BUILD_INTEROP_TESTS=OFF -DLATCHKEY_BUILD_COMMAND=OFF)
  # Where our code runs in one process.
  asan_chosen=(--label-regex '^(unit|integration)$' --label-exclude '^source$')
  asan_targets=(unit_tests bounded_close_tests few_threads_tests session_file_tests moving_names_tests fake_tests
    allocation_tests simulated_tests simulation_tests histories_tests exclusion_tests chaos_tests
    integration_tests moving_servers_tests zookeeper_handle_tests fencing)

  tsan_options=(-DLATCHKEY_BUILD_EXAMPLES=OFF -DLATCHKEY_BUILD_INTEROP_TESTS=OFF -DLATCHKEY_BUILD_COMMAND=OFF)
  tsan_targets=(tsan_tests)
  tsan_chosen=(--label-regex '^tsan$')

  if ((${#labels[@]} > 0)); then
    mapfile -t ci_chosen < <(with_labels)
    asan_targets=(all)
    asan_chosen=("${ci_chosen[@]}")
    tsan_chosen+=("${ci_chosen[@]}") # both
  fi
}

# With the programs that are built already: what the lease, watches, transactions and containers ask of the servers.
run_with_other_servers() {
  local class_path reason
  if ! class_path=$("$latchkey_root/tests/platforms/servers.sh" 2>"$latchkey_root/build/servers.log"); then
    reason=$(tail -n 1 "$latchkey_root/build/servers.log")
    not_run+=("tests with the servers of another Debian: $reason")
    return
  fi
  part=other-servers LATCHKEY_ZOOKEEPER_CLASSPATH=$class_path run_tests ci 0 \
    --label-regex '^(integration|testcluster)$' --exclude-regex '^(fencing|command)'
  part=rolling-upgrade LATCHKEY_ZOOKEEPER_NEXT_CLASSPATH=$class_path run_tests ci 0 \
    --tests-regex '^integration_tests: rolling upgrade$'
}

# Of each part: memory is watched in fewer, they are six times slower; and another system changes nothing in virtual time.
run_stage() {
  if [[ $1 == asan || -n $short ]]; then LATCHKEY_HISTORIES="${LATCHKEY_HISTORIES:-400}" stage "$@"; else stage "$@"; fi
}

plain='' short='' pace='' servers='' asan='' tsan='' suites=()
labels=()
while (($# > 0)); do
  case $1 in
    --plain) plain=1 ;;
    --short) plain=1 short=1 ;;
    --on)
      suites+=("${2:?--on needs a suite of Debian}")
      shift
      ;;
    --pace) plain=1 pace=1 ;;
    --servers) plain=1 servers=1 ;;
    --asan) asan=1 ;;
    --tsan) tsan=1 ;;
    -h | --help)
      sed -n '3,/^set /{/^#/s/^# \{0,1\}//p}' "${BASH_SOURCE[0]}"
      exit 0
      ;;
    -*)
      echo "unknown option $1; see tests/run.sh --help" >&2
      exit 2
      ;;
    *) labels+=("$1") ;;
  esac
  shift
done
if [[ -z $plain$asan$tsan ]] && ((${#suites[@]} == 0)); then
  if [[ ${LATCHKEY_SANITIZE:-0} == 1 ]]; then asan=1; else plain=1; fi
fi

# Fibers keep their frames on stacks of their own, where the search for use after return does not work. The C client asks for
# as much memory as a lying server says, and copes when there is none.
export ASAN_OPTIONS="${ASAN_OPTIONS:-detect_leaks=1:detect_stack_use_after_return=0:strict_string_checks=1:allocator_may_return_null=1}"
export LSAN_OPTIONS="${LSAN_OPTIONS:-suppressions=$latchkey_root/src/package/latchkey-lsan.supp:print_suppressions=0}"
export UBSAN_OPTIONS="${UBSAN_OPTIONS:-print_stacktrace=1}"
export TSAN_OPTIONS="${TSAN_OPTIONS:-second_deadlock_stack=1:allocator_may_return_null=1:suppressions=$latchkey_root/tests/tsan.supp}"

# A run of chaos as long as the tests beside it allow.
if [[ -z ${LATCHKEY_LONG:-} ]]; then export LATCHKEY_CHAOS_SECONDS="${LATCHKEY_CHAOS_SECONDS:-20}"; fi

verdict_is_due=1
latchkey_packages+=("${latchkey_interop_packages[@]}")
install_packages
prepare
if [[ -n $pace ]]; then calibrate_compilation; fi
stages=(${plain:+ci} ${asan:+asan} ${tsan:+tsan})
for i in "${!stages[@]}"; do
  run_stage "${stages[i]}" "${stages[i + 1]:-}"
  if [[ ${stages[i]} == ci && -n $servers ]]; then run_with_other_servers; fi
done
for suite in "${suites[@]}"; do stage_on "$suite"; done
