#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# tests/layering/log_lines.sh FOLDER: fails when OPERATIONS.md of the project in FOLDER explains a log line that no source
# has, or explains none for a warning or an error that one has.
set -euo pipefail

cd "${1:?which folder?}"
complaints=0
complain() {
  echo "$1"
  complaints=$((complaints + 1))
}

# One line, with the string literals joined.
sources=$(cat src/*/*.cpp recipes/*.cpp recipes/*/*.cpp | tr '\n' ' ' | sed -E 's/" +"//g')
# The first column of the first table: what is in backticks, without the fields, in parts around "...".
mapfile -t explained < <(awk '/^## /{n++} n == 1 && /^\| `/' OPERATIONS.md | cut -d '|' -f 2 | grep -oE '`[^`]+`' |
  tr -d '`' | grep -v = | sed 's/ *\.\.\. */\n/g' | grep .)
mapfile -t logged < <(grep -oE 'log\( *log_level::(warning|error), *(fmt::format\( *)?"[^"]+"' <<<"$sources" | cut -d '"' -f 2)

for words in "${explained[@]}"; do
  grep -qF -- "$words" <<<"$sources" || complain "OPERATIONS.md: no source has the log line '$words'"
done
for line in "${logged[@]}"; do
  for words in "${explained[@]}"; do
    [[ $line == *"$words"* ]] && continue 2
  done
  complain "OPERATIONS.md does not explain the log line '$line'"
done
echo "${#explained[@]} lines explained, ${#logged[@]} warnings and errors logged, $complaints complaints"
((${#explained[@]} > 0 && ${#logged[@]} > 0 && complaints == 0))
