#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Prints the row of this system for the table of versions in OPERATIONS.md: versions.sh
# Fails unless PAGE has that row:                                           versions.sh --check PAGE
# Exits with 77 on a system that the table does not name.
set -euo pipefail

# The version that upstream gave the installed package: name, or pattern.
version() {
  dpkg-query -W -f '${db:Status-Status} ${Version}\n' "$1" 2>/dev/null |
    sed -nE 's/^installed ([0-9]+:)?([0-9.]*[0-9]).*/\2/p' | sort -V | head -n 1 || true
}

# shellcheck disable=SC1091
system=$(. /etc/os-release && echo "$NAME $VERSION_ID" | sed 's, GNU/Linux,,')
compilers="g++ $(/usr/bin/g++ -dumpfullversion || true), clang $(/usr/bin/clang++ -dumpversion || true)"
row="| $system | $compilers | $(version 'libboost-fiber[0-9]*-dev') | $(version libfmt-dev) | $(version libzookeeper-mt-dev) |"
row+=" $(version libzookeeper-java) | $(version libcurator-recipes-java) | $(version python3-kazoo) |"
if [[ ${1:-} != --check ]]; then
  echo "$row"
  exit
fi

page=${2:?which page?}
if [[ $row =~ ('|  |'|'++ ,'|clang\ +\|) ]]; then
  echo "skipped: not all of these packages are installed: $row"
  exit 77
fi
found=$(grep -F "| $system |" "$page" || true)
if [[ -z $found ]]; then
  echo "skipped: $page does not name $system"
  exit 77
fi
if [[ $found != "$row"* ]]; then
  printf '%s has\n%s\nbut here is\n%s\n' "$page" "$found" "$row"
  exit 1
fi
