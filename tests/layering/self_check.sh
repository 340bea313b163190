#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# tests/layering/self_check.sh FOLDER: check.sh finds each kind of wrong include in a small tree that is made in FOLDER,
# and finds nothing in the same tree without them.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
tree=${1:?which folder?}
rm -rf "$tree"

header() { # path, then lines after the usual beginning
  mkdir -p "$(dirname "$tree/$1")"
  { printf '// SPDX-License-Identifier: Apache-2.0\n#pragma once\n'; printf '%s\n' "${@:2}"; } >"$tree/$1"
}

header include/latchkey/client.hpp '#include <string>'
header include/latchkey/mutex.hpp '#include <latchkey/client.hpp>'
header include/latchkey/latchkey.hpp '#include <latchkey/client.hpp>' '#include <latchkey/mutex.hpp>'
header include/latchkey/format.hpp '#include <fmt/format.h>' '#include <latchkey/client.hpp>'
header src/base/path.hpp '#include <string>'
header src/bridge/handle.hpp '#include <zookeeper/zookeeper.h>' '#include "../base/path.hpp"' '#include <latchkey/client.hpp>'
header src/session/clock.hpp '#include "bridge/handle.hpp"'
header src/queue/queue.hpp '#include "session/clock.hpp"' '#include <boost/fiber/mutex.hpp>'
header recipes/mutex.cpp '#include <latchkey/mutex.hpp>' '#include "queue/queue.hpp"' '#include "base/path.hpp"'
header recipes/rules.cpp 'const rule locks{"lock", "lock-", "__lock__"};'
header recipes/fair/fair_places.hpp
header testcluster/include/latchkey/testing/ensemble.hpp '#include <string>'
header testcluster/src/ensemble.cpp '#include <latchkey/testing/ensemble.hpp>'
header testcluster/include/latchkey/testing/simulated_ensemble.hpp '#include <latchkey/client.hpp>'
header testcluster/simulation/fake.hpp '#include <latchkey/testing/simulated_ensemble.hpp>' '#include "session/clock.hpp"'
header testcluster/simulation/fake.cpp '#include "simulation/fake.hpp"' '#include "bridge/handle.hpp"'
header examples/tour.cpp '#include <latchkey/mutex.hpp>' '#include <latchkey/testing/ensemble.hpp>'
header tests/unit/queue.cpp '#include <doctest/doctest.h>' '#include "queue/queue.hpp"' '#include <latchkey/testing/ensemble.hpp>'
"$here/check.sh" "$tree" || { echo "FAILED: a right tree was refused"; exit 1; }

expected=()
wrong() { # path and line of what must be found, then the lines of the file
  expected+=("$1")
  header "${1%:*}" "${@:2}"
}
# Each of them has its fault where the name says.
wrong src/base/points_back.hpp:3 '#include "bridge/handle.hpp"'
wrong src/bridge/points_back.cpp:4 '#include "handle.hpp"' '  #  include "../session/clock.hpp"'
wrong src/session/points_back.cpp:3 '#include <queue/queue.hpp>'
wrong src/queue/knows_a_recipe.cpp:3 '#include "../../recipes/mutex.cpp"'
wrong src/queue/knows_a_facade.cpp:3 '#include <latchkey/mutex.hpp>'
wrong src/queue/knows_all_facades.cpp:3 '#include "latchkey/latchkey.hpp"'
wrong src/queue/names_a_recipe.cpp:4 'std::mutex own;' '// as in a fair_places'
wrong src/queue/names_a_kind.cpp:3 'contender_kind kind;'
wrong src/base/names_a_marker.cpp:3 'const auto name = "_c_x-lock-" + number;'
wrong src/session/zookeeper.cpp:3 '#include <zookeeper/zookeeper.h>'
wrong recipes/zookeeper.cpp:3 '#include <zookeeper.h>'
wrong src/queue/test.cpp:3 '#include <latchkey/testing/ensemble.hpp>'
wrong src/queue/doctest.cpp:3 '#include <doctest/doctest.h>'
wrong include/latchkey/boost.hpp:3 '#include <boost/fiber/mutex.hpp>'
wrong include/latchkey/fmt.hpp:3 '#include <fmt/format.h>'
wrong include/latchkey/knows_a_recipe.hpp:3 '#include <latchkey/mutex.hpp>'
wrong include/latchkey/private.hpp:3 '#include "../../src/base/path.hpp"'
wrong testcluster/src/knows_a_client.cpp:3 '#include <latchkey/client.hpp>'
wrong testcluster/src/knows_the_source.cpp:3 '#include "../../src/base/path.hpp"'
wrong testcluster/src/knows_the_simulation.cpp:3 '#include "simulation/fake.hpp"'
wrong testcluster/simulation/knows_a_recipe.cpp:3 '#include <latchkey/mutex.hpp>'
wrong testcluster/simulation/knows_the_queue.cpp:3 '#include "queue/queue.hpp"'
wrong testcluster/simulation/zookeeper.cpp:3 '#include <zookeeper/zookeeper.h>'
wrong src/session/simulated.cpp:3 '#include "simulation/fake.hpp"'
wrong examples/private.cpp:3 '#include "base/path.hpp"'
wrong src/base/no_licence.hpp:1 && sed -i '1s/.*/\/\/ hello/' "$tree/src/base/no_licence.hpp"
wrong src/base/no_guard.hpp:2 '#include <string>' && sed -i '2s/.*/namespace {}/' "$tree/src/base/no_guard.hpp"

if report=$("$here/check.sh" "$tree"); then
  echo "FAILED: a wrong tree was accepted"
  exit 1
fi
echo "$report"
found=$(sed -nE 's/^([^ ]+:[0-9]+): .*/\1/p' <<<"$report" | sort -u)
if ! diff <(printf '%s\n' "${expected[@]}" | sort -u) - <<<"$found"; then
  echo "FAILED: what must be found (<) is not what was found (>)"
  exit 1
fi
