#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# tests/package/links.sh FOLDER: fails if README.md or PROTECTING.md, installed in FOLDER, links to what is not there.
set -euo pipefail

cd "${1:?which folder?}"
links=0
dead=0
for page in README.md PROTECTING.md; do
  while read -r target; do
    links=$((links + 1))
    [[ -e $target ]] && continue
    echo "$page links to $target, which is not installed"
    dead=$((dead + 1))
  done < <(grep -oE '\]\([^)#:]+[)#]' "$page" | sed -E 's/^..//; s/.$//')
done
echo "$links links, $dead dead"
((links > 20 && dead == 0))
