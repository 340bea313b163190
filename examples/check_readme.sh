#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# check_readme.sh README FOLDER: fails unless every ```cpp block of the README stands, but for the indentation, in some
# .cpp file in FOLDER.
set -euo pipefail

readme=${1:?which README?}
mapfile -t sources < <(find "${2:?which folder?}" -name '*.cpp' | LC_ALL=C sort)
((${#sources[@]} > 0)) || { echo "no .cpp file in $2"; exit 1; }

awk '
function stripped(line) {
  sub(/\r$/, "", line)
  gsub(/^[ \t]+|[ \t]+$/, "", line)
  return line
}

function look_for(block,    name) {
  ++blocks
  for (name in text) {
    if (index(text[name], "\n" block) > 0) return
  }
  ++missing
  printf "%s:%d: this block is in none of the examples\n", FILENAME, begin
}

FILENAME != ARGV[ARGC - 1] { text[FILENAME] = (FNR == 1 ? "\n" : text[FILENAME]) stripped($0) "\n"; next }
!inside && /^[ \t]*```cpp[ \t]*$/ { inside = 1; begin = FNR; block = ""; next }
inside && /^[ \t]*```[ \t]*$/ { inside = 0; look_for(block); next }
inside { block = block stripped($0) "\n" }
END {
  if (inside) { print "a block is not closed"; ++missing }
  if (blocks == 0) { print "no ```cpp block found"; ++missing }
  printf "%d blocks, %d missing\n", blocks, missing
  exit missing > 0
}' "${sources[@]}" "$readme"
