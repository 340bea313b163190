#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Runs examples/run.sh and tests/run.sh on another Debian, in a folder. The last line is the verdict: "<n> passed, <n> failed", or
# "not run: " and why that system cannot be had here, which is no failure.
#
#   tests/platforms/run.sh SUITE [LABEL...]     bookworm or trixie; LABEL and options as for tests/run.sh
#   tests/platforms/run.sh --short SUITE        tests/run.sh --short alone, which has the tour: some minutes, as in .ci/run
#   tests/platforms/run.sh --shell SUITE        a shell there
#
# As root, or as a user whom the kernel lets have namespaces (Debian package 'uidmap'). Mirrors, keys and proxies are those of this
# machine's apt. The system, its packages and what is built there are kept in build/platforms/SUITE and used again, or in the folder
# that LATCHKEY_PLATFORMS names; removing the folder starts anew.
set -euo pipefail

# shellcheck source=tests/setup.sh
source "$(dirname "${BASH_SOURCE[0]}")/../setup.sh"
# shellcheck source=tests/platforms/sources.sh
source "$latchkey_root/tests/platforms/sources.sh"

not_run() {
  printf '\nnot run: Debian %s: %s\n' "$suite" "$*"
  exit 0
}

# The settings of this machine's apt for downloads, proxies among them.
downloads() { apt-config dump | grep -E '^Acquire::' | grep -vE '^Acquire::(IndexTargets|cdrom|Changelogs|CompressionTypes)' || true; }

# Makes the system in $folder/root.
make_root() {
  local new="$folder/new" log="$folder/root.log"
  # shellcheck disable=SC2030,SC2031 # in a process of its own, which it may end
  if ! command -v mmdebstrap >/dev/null; then (latchkey_packages=(mmdebstrap) && install_packages) || true; fi
  command -v mmdebstrap >/dev/null || not_run "mmdebstrap is missing (Debian package 'mmdebstrap')"
  if ! have_package_lists && ((EUID == 0)); then apt-get -q update || true; fi
  sources "$suite" >"$folder/sources.list"
  if [[ ! -s $folder/sources.list ]]; then not_run "this machine's apt names no mirror of Debian"; fi
  downloads >"$folder/apt.conf"
  heading "making Debian $suite in $folder/root"
  "${enter[@]}" rm -rf "$new" "$new.tar"
  local -a options=(--variant=minbase "--include=ca-certificates debian-archive-keyring" --aptopt="$folder/apt.conf"
    --dpkgopt=force-unsafe-io)
  if ((EUID == 0)); then
    mmdebstrap "${options[@]}" "$suite" "$new" "$folder/sources.list" 2>&1 | tee "$log" || not_run "mmdebstrap failed, see $log"
  else # its own namespace has other users
    mmdebstrap "${options[@]}" --mode=unshare "$suite" "$new.tar" "$folder/sources.list" 2>&1 | tee "$log" ||
      not_run "mmdebstrap failed, see $log"
    # shellcheck disable=SC2016 # its own arguments
    "${enter[@]}" bash -c 'mkdir "$0" && tar -C "$0" --exclude="./dev/*" -xf "$0.tar" && chown root: "$0" && rm "$0.tar"' "$new"
  fi
  "${enter[@]}" mv "$new" "$folder/root"
}

# In a namespace of its own, whose mounts and processes end with this script: what to run in $folder/root.
inside() {
  local root="$folder/root" file
  mount --rbind /dev "$root/dev"
  mount -t proc proc "$root/proc"
  mount --rbind /sys "$root/sys"
  mkdir -p "$root/latchkey"
  mount --bind "$latchkey_root" "$root/latchkey"
  mount -o remount,bind,ro "$root/latchkey"
  mount --bind "$folder/build" "$root/latchkey/build"
  # Names, proxies and certificates as outside.
  for file in /etc/resolv.conf /etc/hosts /etc/ssl/certs/ca-certificates.crt; do
    if [[ -r $file ]]; then install -D -m 644 "$file" "$root$file"; fi
  done
  for file in /etc/apt/auth.conf /etc/apt/auth.conf.d; do
    if [[ -f $file ]]; then touch "$root$file"; fi
    if [[ -r $file ]]; then mount --bind "$file" "$root$file"; fi
  done
  sed -nE 's/.*signed-by=(\/[^] ]+).*/\1/p' "$folder/sources.list" | while read -r file; do
    if [[ ! -e $root$file && -r $file ]]; then install -D -m 644 "$file" "$root$file"; fi
  done
  # apt's own user is none that a namespace without root can change to
  if [[ -e /proc/self/uid_map ]] && ! grep -q 4294967295 /proc/self/uid_map; then echo 'APT::Sandbox::User "root";'; fi |
    cat "$folder/apt.conf" - >"$root/etc/apt/apt.conf.d/99outside"
  local -a variables=(HOME=/root LANG=C.UTF-8 PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin)
  local name
  for name in CI TERM http_proxy https_proxy no_proxy HTTP_PROXY HTTPS_PROXY NO_PROXY LATCHKEY_HISTORIES LATCHKEY_SEED; do
    if [[ -n ${!name:-} ]]; then variables+=("$name=${!name}"); fi
  done
  # Not replaced by it: this shell is the first process of its namespace, and takes leave of those whose parents are gone.
  env -i "${variables[@]}" chroot "$root" bash -c 'cd /latchkey && "$@"' bash "$@"
}

# Whether what is missing there can be downloaded: without a network nothing is known of that system.
# shellcheck disable=SC2031,SC2317 # runs inside
can_install() {
  latchkey_packages+=("${latchkey_interop_packages[@]}")
  [[ -z $(missing_packages 2>/dev/null) ]] || apt-get -q -o APT::Update::Error-Mode=any update
}

if [[ ${1:-} == --inside ]]; then # this script, in its namespace
  folder=$2
  shift 2
  inside "$@"
  exit
fi

what=all
case ${1:-} in
  --short | --shell)
    what=${1#--}
    shift
    ;;
esac
if [[ ! ${1:-} =~ ^[a-z]+$ ]]; then
  sed -n '3,/^set /{/^#/s/^# \{0,1\}//p}' "${BASH_SOURCE[0]}"
  exit 2
fi
suite=$1
shift
folder=${LATCHKEY_PLATFORMS:-$latchkey_root/build/platforms}/$suite
mkdir -p "$folder/build" "$latchkey_root/build"
folder=$(cd "$folder" && pwd)
exec {lock}>"$folder/lock"
flock --nonblock "$lock" || not_run "$folder is in use"

# With its own table of processes and of mounts: whatever ends the script ends and unmounts them all.
enter=(unshare --mount --pid --fork --kill-child)
if ((EUID != 0)); then enter+=(--user --map-root-user --map-auto); fi
"${enter[@]}" true 2>/dev/null || not_run "no privileges: neither root, nor namespaces of users (Debian package 'uidmap')"

child=
trap 'if [[ -n $child ]]; then kill -KILL "$child" 2>/dev/null || true; fi' EXIT
trap 'exit 1' INT TERM
within() {
  "${enter[@]}" bash "${BASH_SOURCE[0]}" --inside "$folder" "$@" &
  child=$!
  local status=0
  wait "$child" || status=$?
  child=
  return "$status"
}

if [[ ! -e $folder/root ]]; then make_root; fi
if [[ $what == shell ]]; then # of this terminal
  exec "${enter[@]}" bash "${BASH_SOURCE[0]}" --inside "$folder" bash
fi
within bash -c "source tests/setup.sh; $(declare -f can_install); can_install" ||
  not_run "its packages cannot be downloaded"
if [[ $what == short ]]; then
  within env CI=true tests/run.sh --short
else
  within bash -c 'examples/run.sh && tests/run.sh "$@"' bash "$@"
fi
