#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# tests/package/links.sh FOLDER: fails if a page of the documentation that is installed in FOLDER links to a file or a
# heading that is not there, or if a page for users names a file of the source tree without saying so.
set -euo pipefail

cd "${1:?which folder?}"
complaints=0
complain() {
  echo "$1"
  complaints=$((complaints + 1))
}

# The names that GitHub gives to the headings of a page.
anchors() {
  sed -nE 's/^#+ +//p' "$1" | tr '[:upper:]' '[:lower:]' | sed -E 's/[^a-z0-9 _-]//g; s/ /-/g'
}

links=0
while read -r page; do
  while read -r link; do
    links=$((links + 1))
    file=${link%%#*}
    target=$page
    if [[ -n $file ]]; then target=$(dirname "$page")/$file; fi
    if [[ ! -e $target ]]; then
      complain "$page links to $link, which is not installed"
    elif [[ $link == *'#'* ]] && ! grep -qxF -- "${link#*#}" <<<"$(anchors "$target")"; then
      complain "$page links to $link, and there is no such heading"
    fi
  done < <(grep -oE '\]\([^) ]+\)' "$page" | sed -E 's/^..//; s/.$//' | grep -v '://')
done < <(find . -name '*.md')

# A paragraph, a block of code or a table may name them if it has the word "source".
mentions=0
for page in README.md PROTECTING.md OPERATIONS.md testcluster/README.md testcluster/TESTING.md; do
  while read -r name marked; do
    mentions=$((mentions + 1))
    [[ $marked == 1 || -e $name || -e ${name%.} ]] && continue
    complain "$page names $name, which is not installed; say that it is in the source tree"
  done < <(awk -v RS= '{
    text = $0
    marked = text ~ /source/
    gsub(/\]\([^)]*\)/, "]", text)
    while (match(text, /(^|[^A-Za-z0-9_.\/-])(tests|examples|src|recipes|\.ci)\/[A-Za-z0-9_.\/-]*/)) {
      name = substr(text, RSTART, RLENGTH)
      sub(/^[^A-Za-z.]/, "", name)
      print name, marked + 0
      text = substr(text, RSTART + RLENGTH)
    }
  }' "$page")
done
echo "$links links, $mentions files named, $complaints complaints"
((links > 60 && mentions > 3 && complaints == 0))
