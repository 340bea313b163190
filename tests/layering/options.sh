#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# tests/layering/options.sh FOLDER: fails unless the table of OPERATIONS.md, "Building", has the options of CMakeLists.txt of
# the project in FOLDER, and BUILD_SHARED_LIBS, and no others.
set -euo pipefail

cd "${1:?which folder?}"
explained=$(awk '/^## /{ inside = $0 == "## Building" } inside && /^\| `/' OPERATIONS.md | cut -d '`' -f 2 | sort)
there=$({ sed -nE 's/^ *option\(([A-Z_]+) .*/\1/p' CMakeLists.txt; echo BUILD_SHARED_LIBS; } | sort)
if ! diff <(echo "$there") <(echo "$explained"); then
  echo "the options of CMakeLists.txt (<) are not those of OPERATIONS.md (>)"
  exit 1
fi
wc -l <<<"$there"
