#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Installs what is missing, builds, runs the tests. The last line is "<n> passed, <n> failed", in test cases.
#
#   tests/run.sh               everything; unit and integration again under ASan and UBSan; without fibers also under TSan
#   tests/run.sh LABEL         only the tests with this label: unit, integration, testcluster, package, ...
#   tests/run.sh --asan [LABEL]    only under ASan and UBSan; so does LATCHKEY_SANITIZE=1
#   tests/run.sh --tsan        only the tests without fibers, under TSan
#
# Everything a run wrote is kept in build/<preset>/: build.log, tests.log, tests.xml.
set -euo pipefail

# shellcheck source=tests/setup.sh
source "$(dirname "${BASH_SOURCE[0]}")/setup.sh"

passed=0
failed=0

finish() {
  printf '\n%d passed, %d failed\n' "$passed" "$failed"
  if ((failed > 0 || passed == 0)); then exit 1; fi
  exit 0
}

# What keeps the tests from running is a failure too, and is counted.
give_up() {
  echo "$*" >&2
  failed=$((failed + 1))
  finish
}

# preset, then the targets.
prepare() {
  local preset=$1 log="$latchkey_root/build/$1/build.log"
  shift
  mkdir -p "$(dirname "$log")"
  build "$preset" "$@" 2>&1 | tee "$log" || give_up "The build of the preset $preset failed: see $log"
}

# preset -> its labels, one a line.
labels_of() { ctest --test-dir "$latchkey_root/build/$1" --print-labels 2>/dev/null | sed -n 's/^  //p'; }

# preset, label
has_label() { [[ $'\n'$(labels_of "$1")$'\n' == *$'\n'"$2"$'\n'* ]]; }

# preset, then CTest's options that choose the tests.
run_tests() {
  local preset=$1 folder="$latchkey_root/build/$1" outcome=0 run_passed run_failed
  shift
  heading "running the tests of the preset $preset"
  rm -f "$folder/tests.xml"
  # The sizes: CTest would shorten the output that is counted.
  ctest --test-dir "$folder" --parallel "$(nproc)" --output-on-failure --no-tests=error "$@" \
    --output-junit "$folder/tests.xml" --test-output-size-passed 100000000 --test-output-size-failed 100000000 || outcome=$?
  cp -f "$folder/Testing/Temporary/LastTest.log" "$folder/tests.log" 2>/dev/null || true
  run_passed=0 run_failed=0
  if [[ -f $folder/tests.xml ]]; then
    read -r run_passed run_failed < <(awk -f "$latchkey_root/tests/count.awk" "$folder/tests.xml")
  fi
  # CTest has the last word on whether something failed.
  if ((outcome != 0 && run_failed == 0)); then run_failed=1; fi
  printf 'preset %s: %d test cases passed, %d failed; the full log is %s\n' \
    "$preset" "$run_passed" "$run_failed" "$folder/tests.log"
  passed=$((passed + run_passed))
  failed=$((failed + run_failed))
}

mode=
label=
while (($# > 0)); do
  case $1 in
    --asan | --tsan) mode=${1#--} ;;
    -h | --help)
      sed -n '3,10s/^# \{0,1\}//p' "${BASH_SOURCE[0]}"
      exit 0
      ;;
    -*)
      echo "unknown option $1; see tests/run.sh --help" >&2
      exit 2
      ;;
    *) label=$1 ;;
  esac
  shift
done
if [[ -z $mode && ${LATCHKEY_SANITIZE:-0} == 1 ]]; then mode=asan; fi

latchkey_packages+=("${latchkey_interop_packages[@]}")
install_packages

# Fibers keep their frames on stacks of their own, where the search for use after return does not work. The C client asks for
# as much memory as a lying server says, and copes when there is none.
export ASAN_OPTIONS="${ASAN_OPTIONS:-detect_leaks=1:detect_stack_use_after_return=0:strict_string_checks=1:allocator_may_return_null=1}"
export LSAN_OPTIONS="${LSAN_OPTIONS:-suppressions=$latchkey_root/tests/lsan.supp:print_suppressions=0}"
export UBSAN_OPTIONS="${UBSAN_OPTIONS:-print_stacktrace=1}"
export TSAN_OPTIONS="${TSAN_OPTIONS:-second_deadlock_stack=1:allocator_may_return_null=1:suppressions=$latchkey_root/tests/tsan.supp}"

# Only CI insists on no warnings: a newer compiler than ours has new ones. Else the build is shared with examples/run.sh.
normal=dev
if [[ ${CI:-} == true ]]; then normal=ci; fi

check_label() { # preset
  if [[ -n $label ]] && ! has_label "$1" "$label"; then
    echo "no test has the label '$label'; the labels are: $(labels_of "$1" | paste -sd ' ')" >&2
    exit 2
  fi
}

test_normal() {
  configure "$normal" -DLATCHKEY_BUILD_TESTS=ON -DLATCHKEY_BUILD_INTEROP_TESTS=ON -DLATCHKEY_BUILD_EXAMPLES=ON || give_up "CMake failed"
  check_label "$normal"
  prepare "$normal" all all_verify_interface_header_sets
  if [[ -n $label ]]; then
    run_tests "$normal" --label-regex "^$label\$"
  else
    run_tests "$normal" --label-exclude '^bench$' # they measure; nothing can fail
  fi
}

test_asan() {
  configure asan -DLATCHKEY_BUILD_EXAMPLES=OFF -DLATCHKEY_BUILD_INTEROP_TESTS=OFF || give_up "CMake failed"
  check_label asan
  if [[ -n $label ]]; then
    prepare asan all
  else
    prepare asan unit_tests bounded_close_tests fake_tests allocation_tests simulation_tests histories_tests exclusion_tests \
      chaos_tests integration_tests zookeeper_handle_tests
  fi
  export LATCHKEY_HISTORIES="${LATCHKEY_HISTORIES:-1000}" # of each part: memory is watched in fewer, they are six times slower
  if [[ -n $label ]]; then
    run_tests asan --label-regex "^$label\$"
  else
    run_tests asan --label-regex '^(unit|integration)$' --label-exclude '^source$' # where our code runs in one process
  fi
}

test_tsan() {
  configure tsan -DLATCHKEY_BUILD_EXAMPLES=OFF -DLATCHKEY_BUILD_INTEROP_TESTS=OFF || give_up "CMake failed"
  if ! has_label tsan tsan; then return; fi # what has the label depends on the build
  prepare tsan tsan_tests
  run_tests tsan --label-regex '^tsan$'
}

case $mode in
  asan) test_asan ;;
  tsan) test_tsan ;;
  *)
    test_normal
    if [[ -z $label ]]; then
      test_asan
      test_tsan
    fi
    ;;
esac
finish
