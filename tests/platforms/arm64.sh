#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Builds for arm64 on another Debian, in a folder, and runs under qemu-user what needs no server: 40 minutes, or a night.
# An amd64 machine reorders less than an arm64 one does: what atomics need is argued in their comments, not shown here.
# LATCHKEY_HISTORIES: how many histories of each part; default 100.
# The last line is the verdict, as of run.sh beside this file.
#
#   tests/platforms/arm64.sh [SUITE]     bookworm or trixie, the default
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
if [[ ! ${1:-trixie} =~ ^[a-z]+$ ]]; then
  sed -n '3,9s/^# \{0,1\}//p' "${BASH_SOURCE[0]}"
  exit 2
fi
# A system of its own: it has packages of two architectures.
export LATCHKEY_PLATFORMS=${LATCHKEY_PLATFORMS:-$here/../../build/platforms}/arm64
exec "$here/run.sh" --shell "${1:-trixie}" <<'INSIDE'
set -euo pipefail
source tests/setup.sh
dpkg --add-architecture arm64
apt_get update
apt_get install g++-aarch64-linux-gnu cmake ninja-build pkgconf qemu-user doctest-dev nlohmann-json3-dev libcli11-dev \
  libasio-dev libc6:arm64 libstdc++6:arm64 libzookeeper-mt-dev:arm64 libboost-fiber-dev:arm64 libfmt-dev:arm64 \
  libsodium-dev:arm64

heading "building for arm64"
export PKG_CONFIG_LIBDIR=/usr/lib/aarch64-linux-gnu/pkgconfig:/usr/share/pkgconfig
cmake --preset ci -B build/arm64 -DCMAKE_SYSTEM_NAME=Linux -DCMAKE_SYSTEM_PROCESSOR=aarch64 \
  -DCMAKE_CXX_COMPILER=aarch64-linux-gnu-g++ -DCMAKE_LIBRARY_ARCHITECTURE=aarch64-linux-gnu \
  -DCMAKE_CROSSCOMPILING_EMULATOR=qemu-aarch64 -DLATCHKEY_BUILD_EXAMPLES=OFF -DLATCHKEY_BUILD_COMMAND=OFF \
  -DLATCHKEY_BUILD_INTEROP_TESTS=OFF
tests=(unit/unit_tests unit/fake_tests simulated/simulated_tests simulation/simulation_tests simulation/histories_tests)
cmake --build build/arm64 --target "${tests[@]##*/}"

export LATCHKEY_HISTORIES=${LATCHKEY_HISTORIES:-100}
passed=0 failed=0
for each in "${tests[@]}"; do
  heading "$each"
  log=build/arm64/${each##*/}.log
  # The log of the library goes to the standard error.
  timeout 10800 qemu-aarch64 "build/arm64/tests/$each" >"$log" 2>"$log.err" || tail -n 40 "$log"
  read -r ok bad < <(sed -n -E 's/^\[doctest\] test cases: .*\| *([0-9]+) passed \| *([0-9]+) failed .*/\1 \2/p' "$log") || true
  passed=$((passed + ${ok:-0})) failed=$((failed + ${bad:-1}))
  unset ok bad
done
printf '\n%d passed, %d failed\n' "$passed" "$failed"
((failed == 0))
INSIDE
