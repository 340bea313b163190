#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Explores one configuration of a model with SPIN, exhaustively, and says what came of it.
#
#   tests/model/run.sh passes|refused MODEL.pml [-DNAME[=VALUE]...]
#
# `refused`: a counterexample is expected; it is the shortest one when BREADTH=1 is in the environment. With LARGE=1 the
# verifier, not its compilation, is what takes long, and its memory counts.
# Files go to a temporary folder, or to LATCHKEY_MODEL_FOLDER.
set -euo pipefail

expected=$1
model=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)/$2
shift 2

give_up() {
  echo "FAILED: $*"
  exit 1
}

if [[ -n ${LATCHKEY_MODEL_FOLDER:-} ]]; then
  folder=$LATCHKEY_MODEL_FOLDER
  mkdir -p "$folder"
else
  folder=$(mktemp -d)
  trap 'rm -rf "$folder"' EXIT
fi
cd "$folder"
rm -f pan* ./*.trail

flags=(-w -DSAFETY -DNOFAIR -DVECTORSZ=2048 -DMEMLIM=3000)
if [[ ${LARGE:-0} == 1 ]]; then
  flags+=(-O1 -DCOLLAPSE) table=24
elif [[ $model == */lease.pml ]]; then # many states, which are small
  flags+=(-O2) table=24
else
  flags+=(-O0) table=20
fi
if [[ ${BREADTH:-0} == 1 ]]; then flags+=(-DBFS); fi
spin -a "$@" "$model" >spin.log 2>&1 || give_up "spin refuses the model: $(cat spin.log)"
"${CC:-cc}" "${flags[@]}" -o pan pan.c || give_up "the verifier cannot be built"
./pan -m500000 -w$table >pan.log 2>&1 || true

grep -E 'violated|invalid end state|errors:|states, stored|total actual|elapsed' pan.log || cat pan.log
show_counterexample() {
  local trail
  trail=$(ls ./*.trail 2>/dev/null | head -n 1) || true
  if [[ -z $trail ]]; then return; fi
  spin -t -T -k "$trail" "$@" "$model" >trail.txt 2>&1 || true
  echo "== the counterexample; all of it is in trail.txt, and README.md says how to read it"
  sed '/processes created/d; /^spin: trail ends/,$d; s/^ *//' trail.txt | tail -n 150
}

case $expected in
  passes)
    if ! grep -q 'errors: 0' pan.log; then
      show_counterexample "$@"
      give_up "a counterexample"
    fi
    ! grep -qE 'max search depth too small|out of memory|Search not completed|interrupted' pan.log ||
      give_up "the search is not complete"
    ;;
  refused)
    grep -q 'errors: 1' pan.log || give_up "no counterexample, though one is expected"
    ! grep -qE 'violated \((created|!q_full)' pan.log || give_up "the model is too small: NODES, or a channel"
    if [[ ${SHOW:-0} == 1 ]]; then show_counterexample "$@"; fi
    ;;
  *) give_up "the first argument is 'passes' or 'refused'" ;;
esac
echo "OK: $expected"
