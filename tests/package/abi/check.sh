#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# check.sh SOURCE WORK CXX LIBRARY [--update]: the symbols that the shared library exports, and the layout of the types of the
# public headers, are those of the file beside this one, so that a break is a decision. With --update that file is written.
# (abidw of abigail-tools 2.2 is of no use here: 19.6 MB for this library; without the types of std 0.25 MB, but then also
# without each member of such a type.)
set -euo pipefail

source=$(realpath "${1:?which source?}")
work=$(realpath --canonicalize-missing "${2:?which folder?}")
cxx=${3:?which compiler?}
library=$(realpath --canonicalize-existing "${4:?which library?}")
kept=$source/tests/package/abi/0.1

mkdir -p "$work"
cd "$source/include"
# What needs a library that its user chooses has no types of its own.
mapfile -t headers < <(grep -L 'asio_form\.inc' latchkey/*.hpp)
printf '#include <%s>\n' "${headers[@]}" >"$work/headers.cpp"
whole_types=-femit-class-debug-always
if [[ $("$cxx" --version) == *clang* ]]; then whole_types=-fstandalone-debug; fi
"$cxx" -std=c++20 -g -fno-eliminate-unused-debug-types "$whole_types" -fPIC -shared -I. "$work/headers.cpp" -o "$work/headers.so"

LATCHKEY_TYPES=$(sed -n -E 's/^(struct|class|enum class) (LATCHKEY_EXPORT )?([a-z_]+)( final)?( : .*)? \{.*/\3/p' "${headers[@]}" |
  sort -u | sed 's/^/latchkey::/')
export LATCHKEY_TYPES
{
  echo "# Symbols:"
  # Strong ones: which inline functions are there, too, is up to the compiler.
  nm --dynamic --demangle --defined-only "$library" |
    sed -n -E 's/^[0-9a-f]+ [TDBR] ((vtable for |typeinfo for |typeinfo name for )?latchkey::)/\1/p' | LC_ALL=C sort -u
  echo "# Types:"
  gdb -nx -batch -iex "set debuginfod enabled off" -x "$source/tests/package/abi/layout.py" "$work/headers.so"
} >"$work/abi"
if [[ ${5:-} == --update ]]; then
  cp "$work/abi" "$kept"
elif ! diff -u "$kept" "$work/abi"; then
  echo "The ABI is another one than that of the last release. Where that is meant, write the file anew (CONTRIBUTING.md), and say so in CHANGELOG.md."
  exit 1
fi
