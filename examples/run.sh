#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Installs what is missing, builds the tour and runs it: examples/run.sh [what to pass to the tour].
set -euo pipefail

# shellcheck source=tests/setup.sh
source "$(dirname "${BASH_SOURCE[0]}")/../tests/setup.sh"

install_packages
configure dev -DLATCHKEY_BUILD_EXAMPLES=ON -DLATCHKEY_BUILD_INTEROP_TESTS=OFF # whatever an earlier configuration has said
build dev tour
heading "the tour"
exec "$latchkey_root/build/dev/examples/tour" "$@"
