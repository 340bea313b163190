#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# tests/layering/format.sh FOLDER CLANG_FORMAT: fails when a C++ file of the project in FOLDER is not as clang-format
# would write it. To repair: clang-format-14 -i FILE
set -euo pipefail

cd "${1:?which folder?}"
clang_format=${2:?which clang-format?}

mapfile -d '' -t files < <(find include src recipes testcluster examples tests -type f \
  \( -name '*.hpp' -o -name '*.cpp' \) -print0 | LC_ALL=C sort -z)
if ((${#files[@]} == 0)); then
  echo "no sources found"
  exit 1
fi

# Several at once: a test of seconds, not of half a minute. The files of each call are named by its warnings.
outcome=0
printf '%s\0' "${files[@]}" |
  xargs -0 -n 32 -P "$(nproc)" "$clang_format" --style=file --dry-run --Werror --ferror-limit=1 || outcome=1
printf '%d files checked with %s\n' "${#files[@]}" "$("$clang_format" --version)"
exit "$outcome"
