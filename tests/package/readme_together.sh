#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# readme_together.sh SOURCE FILE CXX: fails unless the ```cpp blocks of README.md in SOURCE compile together, written to FILE
# as a reader would type them: statements one after another at the end of the function of the first block, functions
# after it. readme_world.hpp has what the reader brings along.
set -euo pipefail

source=$(cd "${1:?which source?}" && pwd)
file=${2:?which file?}
cxx=${3:?which compiler?}

awk -v world="$source/tests/package/readme_world.hpp" -v page="$source/README.md" '
function place(text) { return sprintf("#line %d \"%s\"\n%s", begin, page, text) }
function finish() {
  ++blocks
  if (blocks == 1) {
    if (!sub(/}\n$/, "", block)) { print "the first block does not end with a function" > "/dev/stderr"; exit 1 }
    first = place(block)
  } else if (block ~ /^[a-z][^=(;]* [a-z_]+\([^;{]*\) \{\n/ && block ~ /\n}\n$/) {
    functions = functions place(block)
  } else {
    statements = statements place(block)
  }
}
/^```cpp$/ { inside = 1; begin = FNR + 1; block = ""; next }
/^```$/ && inside { inside = 0; finish(); next }
inside { block = block $0 "\n" }
END {
  if (blocks < 5) { print "only " blocks " blocks" > "/dev/stderr"; exit 1 }
  printf "#include \"%s\"\n%s%s}\n%s", world, first, statements, functions
}' "$source/README.md" >"$file"
"$cxx" -std=c++20 -Wall -Wextra -Werror -Wno-unused -fsyntax-only -I "$source/include" -x c++ "$file"
