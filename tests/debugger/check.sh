#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# check.sh SOURCE WORK PROGRAM: fails unless gdb, with src/package/latchkey-gdb.py, shows the locks of PROGRAM (scene.cpp) and
# of its core as it should.
set -euo pipefail

source=${1:?which source?}
work=${2:?which folder?}
program=${3:?which program?}
here=$source/tests/debugger
rm -rf "$work"
mkdir -p "$work"

# A small core: gdb writes stacks and arenas with the parts that were never used.
ulimit -s 512
export MALLOC_ARENA_MAX=1

run_gdb() {
  timeout 60 gdb -nx -batch -iex "set debuginfod enabled off" -ex "source $source/src/package/latchkey-gdb.py" "$@" 2>&1 ||
    echo "gdb has ended with $?"
}

# Numbers that differ from run to run. Between the first lock and the first wait the program lets 3 s go by.
steady() {
  sed -E -e 's/^\$[0-9]+ = //' -e 's/^<destroyed.*>/<destroyed>/' -e 's/^[0-9a-f]{24} (held|lost)/TOKEN \1/' \
    -e 's/(fiber|thread) [0-9]+/\1 N/g' -e 's/session 0x[0-9a-f]+/session 0xN/' -e 's/\b[0-2]\.[0-9] s/0 s/g' \
    -e 's/at least [1-9][0-9]*\.[0-9] s/at least 3 s/g' -e 's/at most [0-9]+\.[0-9] s/at most N s/g'
}

failed=0
# which output, what is right: a file
expect() {
  diff "$work/$1" "$2" && return
  echo "$1 (<) is not what is expected (>)"
  failed=1
}

run_gdb -ex "set disable-randomization off" -ex run -ex "generate-core-file $work/core" -ex "latchkey locks" "$program" >"$work/process"
# The clock of this client is that of gdb, too; that of the simulated ensemble is another.
steady <"$work/process" | grep -A 2 "^client of 127" >"$work/process.txt" || true
expect process.txt /dev/stdin <<'END'
client of 127.0.0.1:1/billing, not connected
  mutex or reentrant_mutex /locks/late, not held here, 1 waits
    fiber N (thread N) waits for 0 s
END

run_gdb -x "$here/commands.gdb" "$program" "$work/core" >"$work/core.out"
sed -n '/^client of/,$p' "$work/core.out" | steady >"$work/core.txt"
expect core.txt "$here/expected.txt"

objcopy --strip-debug "$program" "$work/stripped"
run_gdb -ex "latchkey locks" "$work/stripped" "$work/core" | tail -n 1 >"$work/stripped.txt"
expect stripped.txt /dev/stdin <<<"<no debug information of liblatchkey; install its package -dbgsym, or build it with -g>"
exit $failed
