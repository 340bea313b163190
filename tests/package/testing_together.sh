#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# testing_together.sh SOURCE FILE CXX: fails unless the ```cpp blocks of TESTING.md in SOURCE are a file that compiles, which
# is written to FILE.
set -euo pipefail

source=$(cd "${1:?which source?}" && pwd)
file=${2:?which file?}
cxx=${3:?which compiler?}

awk -v page="$source/testcluster/TESTING.md" '
/^```cpp$/ { inside = 1; ++blocks; printf "#line %d \"%s\"\n", FNR + 1, page; next }
/^```$/ { inside = 0 }
inside
END { exit blocks < 4 }' "$source/testcluster/TESTING.md" >"$file"
"$cxx" -std=c++20 -Wall -Wextra -Werror -fsyntax-only -I "$source/include" -I "$source/testcluster/include" -x c++ "$file"
