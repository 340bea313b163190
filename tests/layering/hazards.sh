#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# tests/layering/hazards.sh FOLDER: fails when a comment of the project in FOLDER cites an entry that
# src/bridge/HAZARDS.md does not have, when two entries have one number, or when the page names a file that is gone.
set -euo pipefail

cd "${1:?which folder?}"
page=src/bridge/HAZARDS.md
complaints=0
complain() {
  echo "$*"
  complaints=$((complaints + 1))
}

entries=$(sed -n 's/^\*\*\([SF]\{0,1\}[0-9]\{1,\}\)[.].*/\1/p' "$page")
while read -r twice; do
  if [[ -n $twice ]]; then complain "$page: two entries are $twice"; fi
done < <(sort <<<"$entries" | uniq -d)

# A citation may continue on the next line of the comment, and may list several: HAZARDS 15, 16.
cited=$(find include src recipes testcluster examples tests -type f \
  \( -name '*.hpp' -o -name '*.cpp' -o -name '*.md' -o -name '*.txt' -o -name '*.supp' \) ! -path "$page" -print0 |
  LC_ALL=C sort -z | xargs -0 awk '
    FNR == 1 { previous = "" }
    {
      line = $0
      gsub(/\/\/\/?|^#/, " ", line)
      text = previous " " line
      previous = ""
      if (match(line, /HAZARDS *$/)) previous = "HAZARDS"
      while (match(text, /HAZARDS +[SF]?[0-9]+(, *[SF]?[0-9]+)*/)) {
        list = substr(text, RSTART + 7, RLENGTH - 7)
        text = substr(text, RSTART + RLENGTH)
        count = split(list, each, ",")
        for (i = 1; i <= count; ++i) { gsub(/ /, "", each[i]); print FILENAME ":" FNR " " each[i] }
      }
    }')
count=0
while read -r where entry; do
  if [[ -z $entry ]]; then continue; fi
  count=$((count + 1))
  if ! grep -qx "$entry" <<<"$entries"; then complain "$where cites HAZARDS $entry, which $page does not have"; fi
done <<<"$cited"

# `src/...`, `tests/...` from the root of the project; a bare name is a file of the page's own folder, or of the root.
while read -r name; do
  if [[ ! -e $name && ! -e $(dirname "$page")/$name ]]; then complain "$page names $name, which is not there"; fi
done < <(grep -o '`[A-Za-z_./]*\.\(hpp\|cpp\|md\|sh\|pml\|supp\|json\)`' "$page" | tr -d '`' | LC_ALL=C sort -u)

printf '%d entries, %d citations, %d complaints\n' "$(wc -l <<<"$entries")" "$count" "$complaints"
if ((count == 0)); then echo "no citation was found"; fi
exit $((complaints > 0 || count == 0))
