#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# readme_program.sh README FILE: writes to FILE the program of a user who knows only the README: its first ```cpp block,
# and a main function.
set -euo pipefail

awk '
/^```cpp$/ { inside = 1; next }
/^```$/ && inside { exit }
inside
' "${1:?which README?}" >"${2:?which file?}"
cat >>"$2" <<'END'

int main(int argc, char** argv) {
  try {
    work(argc > 1 ? argv[1] : "");
  } catch (const latchkey::error& failure) {
    std::cerr << failure.what() << '\n';
    return 1;
  }
}
END
