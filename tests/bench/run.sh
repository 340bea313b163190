#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Measures latchkey beside the C client alone, Curator, kazoo and Redis, on one local ensemble, in alternating rounds.
#
#   tests/bench/run.sh                      everything: 7 rounds of 1 s, some 15 minutes; best with nothing else running
#   tests/bench/run.sh --quick              3 rounds of 0.4 s, after 10 s to warm up
#   tests/bench/run.sh --only WORKLOAD      one row of the table, as `uncontended`; may be repeated
#   tests/bench/run.sh --without CONTESTANT floor, curator, kazoo or redis; may be repeated
#   tests/bench/run.sh --rounds N --seconds S --warm-up S
#
# Prints a table that ends with the targets that fall short; build/bench/ has it as results.json, chart.svg and chart_short.svg.
# How each number is taken: README.md beside this script.
set -euo pipefail

# shellcheck source=tests/setup.sh
source "$(dirname "${BASH_SOURCE[0]}")/../setup.sh"

rounds=7
seconds=1
options=()
while (($# > 0)); do
  case $1 in
    --quick) rounds=3 seconds=0.4 options+=(--warm-up 10) ;;
    --only | --without | --rounds | --seconds | --warm-up)
      if (($# < 2)); then
        echo "$1 needs a value" >&2
        exit 2
      fi
      case $1 in
        --rounds) rounds=$2 ;;
        --seconds) seconds=$2 ;;
        *) options+=("$1" "$2") ;;
      esac
      shift
      ;;
    -h | --help)
      sed -n '3,12s/^# \{0,1\}//p' "${BASH_SOURCE[0]}"
      exit 0
      ;;
    *)
      echo "unknown option $1; see tests/bench/run.sh --help" >&2
      exit 2
      ;;
  esac
  shift
done

# redis-tools holds the server's program as well, under another name; the package redis-server would start a service.
latchkey_packages+=(
  python3 python3-kazoo default-jdk-headless libcurator-recipes-java libcurator-framework-java libcurator-client-java libslf4j-java
  'redis-tools|redis-server' libhiredis-dev
)
install_packages
configure release -DLATCHKEY_BUILD_TESTS=OFF -DLATCHKEY_BUILD_EXAMPLES=OFF -DLATCHKEY_BUILD_BENCH=ON
build release bench

here="$latchkey_root/tests/bench"
output="$latchkey_root/build/bench"
mkdir -p "$output/classes"

# Redis looks at the name it is called by.
redis=$(command -v redis-server || true)
if [[ -z $redis ]]; then
  redis="$output/redis-server"
  ln -sf "$(command -v redis-check-rdb)" "$redis"
fi

classpath="$output/classes"
for jar in curator-recipes curator-framework curator-client zookeeper zookeeper-jute guava slf4j-api slf4j-nop netty-all \
  jackson-core jackson-databind jackson-annotations; do
  classpath+=":/usr/share/java/$jar.jar"
done
for jar in /usr/share/java/netty-*.jar; do classpath+=":$jar"; done
heading "building the contestants on Curator"
javac -proc:none -nowarn -d "$output/classes" -cp "$classpath" "$here"/curator/*.java

heading "measuring"
commit=$(git -C "$latchkey_root" describe --always --dirty 2>/dev/null || echo unknown)
PYTHONDONTWRITEBYTECODE=1 python3 "$here/bench.py" --programs "$latchkey_root/build/release/tests/bench" --classpath "$classpath" \
  --redis "$redis" --output "$output" --commit "$commit" --rounds "$rounds" --seconds "$seconds" "${options[@]}"
