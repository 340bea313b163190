#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The comparison of REPORT.md: the same faults and the same judge for the locks of other services. One run each, one after
# another; the last lines are the table.
#
#   tests/chaos/compare.sh [--minutes N] [--seed S] [NAME...]
#
# NAME: latchkey, curator, curator-next (that of the other Debian), kazoo, etcd, redis; default: all. Default: 20 minutes each.
# Installs what it needs, and no service: etcd is downloaded and unpacked. Rules that are broken are in the last column.
set -euo pipefail

# shellcheck source=tests/setup.sh
source "$(dirname "${BASH_SOURCE[0]}")/../setup.sh"

minutes=20
seed=1
names=()
while (($# > 0)); do
  case $1 in
    --minutes | --seed)
      need_number "$@"
      printf -v "${1#--}" %s "$2"
      shift
      ;;
    latchkey | curator | curator-next | kazoo | etcd | redis) names+=("$1") ;;
    *)
      sed -n '3,/^set /{/^#/s/^# \{0,1\}//p}' "${BASH_SOURCE[0]}"
      [[ $1 == -h || $1 == --help ]] && exit 0 || exit 2
      ;;
  esac
  shift
done
if ((${#names[@]} == 0)); then names=(latchkey curator curator-next kazoo etcd redis); fi

latchkey_packages+=("${latchkey_interop_packages[@]}" python3-redis)
install_packages
configure dev
build dev chaos
others=$latchkey_root/tests/chaos/others
folder=$latchkey_root/build/chaos
mkdir -p "$folder"
python=(/usr/bin/python3 -B)
version_of() { dpkg-query -W -f='${Version}' "$1" | sed -E 's/^[0-9]+://; s/[-+~].*//'; }

# @1 class path
curator_worker() {
  local classes
  classes=$(mktemp -d -p "$folder")
  javac -cp "$1" -d "$classes" "$others/CuratorWorker.java"
  echo "$(command -v java) -Xmx128m -XX:+UseSerialGC -XX:TieredStopAtLevel=1 -XX:-UsePerfData -cp $classes:$1 CuratorWorker"
}

# Its package would start a service.
get_etcd() {
  if [[ ! -x $folder/etcd/usr/bin/etcd ]]; then
    have_package_lists || apt_get update
    (cd "$folder" && rm -f etcd-server_*.deb && apt-get -q download etcd-server && dpkg -x etcd-server_*.deb etcd)
  fi
  export ETCD=$folder/etcd/usr/bin/etcd
}

rows=()
run() {
  local name=$1 log
  shift
  heading "$name, $minutes minutes, seed $seed"
  log=$(mktemp -p "$folder")
  "$latchkey_root/build/dev/tests/chaos/chaos" --common --seed "$seed" --seconds "$((minutes * 60))" --compare "$name" "$@" 2>&1 |
    tee "$log" || true # that it breaks rules is what the table is about
  rows+=("$(grep -F "| $name |" "$log" || echo "| $name | no verdict |")")
  rm "$log"
}

jars=(curator-recipes curator-framework curator-client zookeeper zookeeper-jute guava slf4j-api slf4j-nop)
for each in "${names[@]}"; do
  case $each in
    latchkey) run latchkey --families mutex ;;
    curator)
      run "Curator $(version_of libcurator-recipes-java)" --worker "$(curator_worker "$(printf '/usr/share/java/%s.jar:' "${jars[@]}")")"
      ;;
    curator-next)
      class_path=$("$latchkey_root/tests/platforms/servers.sh" --curator)
      jar=$(find "$(dirname "${class_path##*:}")" -name 'curator-recipes-[0-9]*.jar' | head -n 1)
      run "Curator $(sed -E 's/.*-([0-9.]+)\.jar/\1/' <<<"$jar")" --worker "$(curator_worker "$class_path")"
      ;;
    kazoo) run "kazoo $(version_of python3-kazoo)" --worker "${python[*]} $others/kazoo_worker.py worker" ;;
    etcd)
      get_etcd
      run "etcd $("$ETCD" --version | sed -n 's/^etcd Version: //p')" \
        --service "${python[*]} $others/etcd.py" --worker "${python[*]} $others/etcd.py worker"
      ;;
    redis)
      REDIS=$(command -v redis-server || command -v redis-check-rdb) # the same program
      export REDIS
      run "Redis $(version_of redis-tools)" --servers 1 \
        --service "${python[*]} $others/redis_lock.py" --worker "${python[*]} $others/redis_lock.py worker"
      ;;
  esac
done

heading "the same faults, the same judge"
echo '| | seed | duration | grants | faults | two holders | killed holders | longest pause after a fault | rules broken |'
echo '|---|---|---|---|---|---|---|---|---|'
printf '%s\n' "${rows[@]}"
