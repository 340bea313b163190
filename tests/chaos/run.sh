#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# A long run of chaos: builds, then lets everything fail for some minutes. The last line is the verdict.
#
#   tests/chaos/run.sh [--minutes N] [--seed S] [--asan] [OPTION...]
#
# Default: 30 minutes, a seed of chance. More options, such as --servers 5, --outside, --svg FILE: see `chaos --help`.
# The history of a run that fails is kept, with its picture; with --keep FOLDER that of every run is.
set -euo pipefail

# shellcheck source=tests/setup.sh
source "$(dirname "${BASH_SOURCE[0]}")/../setup.sh"

minutes=30
seed=$((RANDOM * 32768 + RANDOM))
preset=dev
options=()
while (($# > 0)); do
  case $1 in
    --minutes | --seed)
      need_number "$@"
      printf -v "${1#--}" %s "$2"
      shift
      ;;
    --asan) preset=asan ;;
    -h | --help)
      sed -n '3,8s/^# \{0,1\}//p' "${BASH_SOURCE[0]}"
      exit 0
      ;;
    *) options+=("$1") ;;
  esac
  shift
done

install_packages
if [[ $preset == asan ]]; then
  configure asan -DLATCHKEY_BUILD_EXAMPLES=OFF
else
  configure "$preset"
fi
build "$preset" chaos

# Fibers keep their frames on stacks of their own, where the search for use after return does not work.
export ASAN_OPTIONS="${ASAN_OPTIONS:-detect_leaks=1:detect_stack_use_after_return=0}"
heading "chaos for $minutes minutes, seed $seed"
"$latchkey_root/build/$preset/tests/chaos/chaos" --seed "$seed" --seconds "$((minutes * 60))" "${options[@]}"
