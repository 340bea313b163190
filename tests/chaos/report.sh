#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# A run of REPORT.md: everything fails for an hour, and the last line is its row of the table there.
#
#   tests/chaos/report.sh [--minutes N] [--seed S] [OPTION...]
#
# Options are those of run.sh, and of `chaos --help`. Fails if a rule was broken.
case ${1:-} in
  -h | --help)
    sed -n '3,7s/^# \{0,1\}//p' "${BASH_SOURCE[0]}"
    exit 0
    ;;
esac
exec "$(dirname "${BASH_SOURCE[0]}")/run.sh" --minutes 60 --report "$@"
