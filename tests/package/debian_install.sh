#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# debian_install.sh SOURCE WORK CXX: installs the packages that debian_build.sh has left in WORK/build, compiles what a
# user does who knows only the README, runs it on an ensemble of the installed program, and removes the packages.
# Exits with 77 where it must not install packages.
set -euo pipefail

source=${1:?which source?}
work=${2:?which folder?}
cxx=${3:?which compiler?}
packages=(liblatchkey-dev latchkey-testcluster latchkey-tools "$(cd "$work/build" && echo liblatchkey[0-9]*.deb | sed 's/_.*//')")

skip() {
  echo "skipped: $*"
  exit 77
}

if ((EUID != 0)); then skip "only root can install packages"; fi
for package in "${packages[@]}"; do
  if dpkg-query --status "$package" >/dev/null 2>&1; then skip "$package is installed, and would be removed"; fi
done

apt_get() {
  DEBIAN_FRONTEND=noninteractive apt-get -q -y -o Dpkg::Use-Pty=0 -o DPkg::Lock::Timeout=300 "$@" </dev/null
}

ensemble=
finish() {
  if [[ -n $ensemble ]]; then kill "$ensemble" || true; fi
  dpkg --purge "${packages[@]}" >/dev/null 2>&1 || true
}
trap finish EXIT

apt_get install --no-install-recommends --no-remove "$work/build/"*.deb
dpkg-query --listfiles "${packages[@]}" | while read -r file; do
  if [[ -f $file || -L $file ]]; then echo "$file"; fi
done >"$work/files"

rm -rf "$work/user"
mkdir "$work/user"
cd "$work/user"
bash "$source/tests/package/readme_program.sh" "$source/README.md" nightly.cpp
{
  printf 'cmake_minimum_required(VERSION 3.23)\nproject(user LANGUAGES CXX)\n'
  awk '/^```cmake$/ { inside = 1; next } /^```$/ && inside { exit } inside' "$source/README.md"
  printf 'find_package(latchkey REQUIRED COMPONENTS simulation testcluster)\n'
  for component in simulation testcluster; do
    printf 'add_executable(%s "%s")\n' "$component" "$source/tests/package/consumer/$component.cpp"
    printf 'target_link_libraries(%s PRIVATE latchkey::%s)\n' "$component" "$component"
  done
} >CMakeLists.txt
cmake -B build -DCMAKE_CXX_COMPILER="$cxx" >/dev/null
cmake --build build
arguments=$(sed -n 's/.*`g++ \(-std=[^`]*\)`.*/\1/p' "$source/README.md")
command="$cxx ${arguments:?the README does not say how to compile without CMake}"
printf '%s\n' "$command"
eval "$command"

exec {output}< <(exec latchkey-testcluster up --servers 1)
ensemble=$!
read -r connect_string <&"$output"
for program in build/nightly ./nightly; do
  timeout 60 "$program" "$connect_string"
done
# gdb has loaded the script for the library.
timeout 60 gdb -nx -batch -iex "set debuginfod enabled off" -ex "set disable-randomization off" -ex "break main" -ex run \
  -ex "latchkey locks" build/nightly </dev/null 2>&1 | grep -F "no debug information of liblatchkey"
for component in simulation testcluster; do
  read -ra flags < <(pkg-config --cflags --libs "latchkey-$component")
  "$cxx" -std=c++20 "$source/tests/package/consumer/$component.cpp" "${flags[@]}" -o "$component"
  "build/$component"
  "./$component"
done
export LATCHKEY_CONNECT=$connect_string
latchkey --version
latchkey status /locks/nightly
bash -ec 'source /usr/share/bash-completion/completions/latchkey; complete -p latchkey'
kill "$ensemble"
wait "$ensemble"
ensemble=

apt_get purge "${packages[@]}"
while read -r file; do
  if [[ -e $file || -L $file ]]; then
    echo "$file is left after the removal"
    exit 1
  fi
done <"$work/files"
