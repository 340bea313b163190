#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Gets the ZooKeeper servers of another Debian, and installs nothing: downloads its packages from where this system's own
# come from, unpacks them into build/servers/SUITE, and prints a class path for LATCHKEY_ZOOKEEPER_CLASSPATH.
#
#   tests/platforms/servers.sh [--curator] [SUITE]      bookworm (ZooKeeper 3.8, Curator 5.4) or trixie (3.9, 5.7);
#                                                       default: the one that this is not
#
# With --curator the class path is one for clients: it has Curator, too.
#
# What was unpacked before is used again. Exits with 1 and the reason where the packages cannot be had. Needs no root.
set -euo pipefail

left_out=(! -name 'curator-*.jar' ! -name 'guava*.jar')
case ${1:-} in
  -h | --help)
    sed -n '3,/^set /{/^#/s/^# \{0,1\}//p}' "${BASH_SOURCE[0]}"
    exit 0
    ;;
  --curator)
    left_out=()
    shift
    ;;
esac

# shellcheck source=tests/platforms/sources.sh
source "$(dirname "${BASH_SOURCE[0]}")/sources.sh"

cannot() {
  echo "$*" >&2
  exit 1
}

# shellcheck source=/dev/null
here=$(. /etc/os-release 2>/dev/null && echo "${VERSION_CODENAME:-}")
if (($# > 0)); then suite=$1; elif [[ $here == trixie ]]; then suite=bookworm; else suite=trixie; fi
folder=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)/build/servers/$suite
jars=$folder/root/usr/share/java

# zookeeper.jar comes last: its manifest names jars of this system.
class_path() {
  find "$jars" -name '*.jar' ! -name 'zookeeper*.jar' ! -name 'slf4j-*.jar' "${left_out[@]}" | sort | tr '\n' ':'
  echo "$jars/slf4j-api.jar:$jars/slf4j-simple.jar:$jars/zookeeper-jute.jar:$jars/zookeeper.jar"
}

download() {
  local list apt=$folder/apt
  command -v apt-get >/dev/null || cannot "this is not Debian: there is no apt-get"
  list=$(sources "$suite" | grep " $suite main$") || cannot "apt's configuration names no archive of Debian"
  rm -rf "$folder"
  mkdir -p "$apt"/{lists,archives}/partial
  : >"$apt/status"
  echo "$list" >"$apt/sources.list"
  local options=(-q -y -o "Dir::Etc::sourcelist=$apt/sources.list" -o Dir::Etc::sourceparts=/dev/null
    -o Dir::Etc::preferencesparts=/dev/null -o "Dir::State::lists=$apt/lists" -o "Dir::State::status=$apt/status"
    -o "Dir::Cache=$apt" -o "Dir::Cache::archives=$apt/archives" -o "APT::Sandbox::User=$(id -un)"
    -o Acquire::Languages=none)
  apt-get "${options[@]}" update -o APT::Update::Error-Mode=any >"$apt/log" 2>&1 ||
    cannot "apt-get update failed for $suite, see $apt/log"
  # Jars are in packages of that name; what else they depend on is not needed here.
  local -a packages
  mapfile -t packages < <(apt-get "${options[@]}" --simulate --no-install-recommends \
    install libzookeeper-java libslf4j-java libcurator-recipes-java 2>>"$apt/log" | sed -n 's/^Inst \([^ ]*-java\) .*/\1/p')
  (cd "$apt/archives" && apt-get "${options[@]}" download "${packages[@]}") >>"$apt/log" 2>&1 ||
    cannot "apt-get cannot download libzookeeper-java of $suite, see $apt/log"
  mkdir "$folder/new"
  local package
  for package in "$apt"/archives/*.deb; do dpkg -x "$package" "$folder/new"; done
  mv "$folder/new" "$folder/root"
  rm -rf "$apt/archives" "$apt/lists"
}

if [[ ! -e $jars/zookeeper.jar || ! -e $jars/curator-recipes.jar ]]; then download; fi
class_path
