#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Installs what is missing, builds the tour and runs it: examples/run.sh [what to pass to the tour].
set -euo pipefail

# shellcheck source=tests/setup.sh
source "$(dirname "${BASH_SOURCE[0]}")/../tests/setup.sh"

install_packages
# The preset that tests/run.sh builds too; whatever an earlier configuration has said.
configure ci -DCMAKE_COMPILE_WARNING_AS_ERROR=OFF -DLATCHKEY_BUILD_EXAMPLES=ON -DLATCHKEY_BUILD_INTEROP_TESTS=OFF
build ci tour
heading "the tour"
exec "$latchkey_root/build/ci/examples/tour" "$@"
