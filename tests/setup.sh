# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# What tests/run.sh and examples/run.sh share: the packages of Debian 12 and 13, and how the project is configured and built.
# To be sourced by a script that runs with `set -euo pipefail`.

latchkey_root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)

# `a|b`: one of them will do, the first is what gets installed; others may be patterns, as they name versions. Two versions of
# Boost cannot be installed side by side. `?a`: not every Debian has it.
latchkey_packages=(
  g++ cmake ninja-build pkgconf
  libzookeeper-mt-dev 'libboost-fiber-dev|libboost-fiber[0-9]*-dev' libfmt-dev nlohmann-json3-dev libsodium-dev
  doctest-dev libcli11-dev libasio-dev
  # The servers of the test ensemble. Only the package zookeeperd would start one by itself.
  libzookeeper-java default-jre-headless
)
# With whom tests/interop shares a lock, what explores the models, what checks the format and the comments of headers,
# what makes Debian packages, what speaks TLS, what the example of metrics uses and what reads them: for all tests, not for
# the tour.
# shellcheck disable=SC2034
latchkey_interop_packages=(
  'default-jdk-headless|openjdk-[0-9]*-jdk-headless' libcurator-recipes-java python3-kazoo spin '?clang-format-14' doxygen
  dpkg-dev file gdb groff-base stunnel4 openssl prometheus-cpp-dev python3-prometheus-client
  # What tests/fencing stores data in. The package redis-server would start a service.
  libsqlite3-dev libcpp-httplib-dev libpq-dev postgresql libhiredis-dev 'redis-tools|redis-server'
  # The second compiler of tests/platforms.
  clang
)

# @ an option and what follows it: ends the script unless that is a number.
need_number() {
  [[ ${2:-} =~ ^[0-9]+$ ]] && return
  echo "$1 needs a number" >&2
  exit 2
}

heading() { printf '\n== %s\n' "$*"; }

# A name, or a pattern. (A package that others name, or that was purged, is "not-installed".)
is_installed() { [[ " $(dpkg-query -W -f='${db:Status-Status} ' "$1" 2>/dev/null)" == *" installed "* ]]; }

have_package_lists() { [[ -n $(find /var/lib/apt/lists -name '*Packages*' -print -quit 2>/dev/null) ]]; }

# Prints the packages that are missing, one a line.
missing_packages() {
  local choice name
  for choice in "${latchkey_packages[@]}"; do
    local -a names
    IFS='|' read -ra names <<<"${choice#'?'}"
    for name in "${names[@]}"; do
      is_installed "$name" && continue 2
    done
    if [[ $choice == '?'* ]] && have_package_lists && [[ -z $(apt-cache show "$name" 2>/dev/null) ]]; then
      echo "not installed, as this system does not have it: $name" >&2
      continue
    fi
    echo "${names[0]}"
  done
}

# Runs apt-get as root, asking nothing. --no-remove: what somebody has installed on purpose stays.
apt_get() {
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -q -y --no-remove -o Dpkg::Use-Pty=0 \
    -o DPkg::Lock::Timeout=300 "$@" </dev/null
}

# Debian's PostgreSQL starts a server when it is installed, unless this file says otherwise.
forbid_postgres_cluster() {
  local file=/etc/postgresql-common/createcluster.conf
  if [[ ! -e $file ]]; then
    "${as_root[@]}" install -D -m 644 /dev/stdin "$file" <<<'create_main_cluster = false'
  fi
}

# Installs what is missing of the packages above, and nothing else. Ends the script with 1 where that is impossible.
install_packages() {
  if ! command -v dpkg-query >/dev/null || ! command -v apt-get >/dev/null; then
    echo "This is not Debian: nothing is installed, and the build needs what these packages hold: ${latchkey_packages[*]}"
    return
  fi
  local -a missing as_root=()
  mapfile -t missing < <(missing_packages)
  if ((${#missing[@]} == 0)); then
    return
  fi
  if ((EUID != 0)); then
    # Asks for the password only where somebody can type it.
    if command -v sudo >/dev/null && { sudo -n true 2>/dev/null || { [[ -t 0 ]] && sudo -v; }; }; then
      as_root=(sudo)
    else
      {
        echo "Some Debian packages are missing, and only root can install them. Run this as root, then try again:"
        echo "apt-get update && apt-get install --no-install-recommends ${missing[*]}"
      } >&2
      exit 1
    fi
  fi
  if [[ " ${missing[*]} " == *" postgresql "* ]]; then forbid_postgres_cluster; fi
  if ! have_package_lists; then
    apt_get update || true # the installation below tells what is wrong, and tries once more
    mapfile -t missing < <(missing_packages)
    if ((${#missing[@]} == 0)); then return; fi
  fi
  heading "installing ${missing[*]}"
  if ! apt_get install --no-install-recommends "${missing[@]}"; then
    # Lists that are too old name versions that the mirrors no longer have.
    if ! { apt_get update && apt_get install --no-install-recommends "${missing[@]}"; }; then
      echo "apt-get failed. By hand: apt-get update && apt-get install --no-install-recommends ${missing[*]}" >&2
      exit 1
    fi
  fi
}

# preset, then more options of CMake. Fails when CMake does.
configure() {
  local preset=$1
  shift
  heading "configuring the preset $preset"
  if [[ -z ${CMAKE_CXX_COMPILER_LAUNCHER:-} ]] && command -v ccache >/dev/null; then
    export CMAKE_CXX_COMPILER_LAUNCHER=ccache
  fi
  cmake -S "$latchkey_root" --preset "$preset" "$@"
}

# preset, then the targets. Fails when the build does.
build() {
  local preset=$1
  shift
  heading "building the preset $preset"
  cmake --build "$latchkey_root/build/$preset" --parallel "$(nproc)" --target "$@"
}
