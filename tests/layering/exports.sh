#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# tests/layering/exports.sh FOLDER: fails when a public header of the project in FOLDER defines a class or declares a
# function, neither of them a template, that a shared library does not export.
set -euo pipefail

cd "${1:?which folder?}"
# The simulated ensemble is always a static library.
mapfile -t headers < <(find include testcluster/include -name '*.hpp' ! -name 'simulated_ensemble.hpp' | LC_ALL=C sort)
awk '
FNR == 1 { before = "" }
/^class .*[^;]$/ || (/^[A-Za-z[].*\(/ && !/[{}]$/ && !/^(class|struct|enum|template|using|constexpr|inline)/) {
  ++found
  if (!/LATCHKEY_(TESTING_)?EXPORT/ && before !~ /^template/) {
    printf "%s:%d: not exported: %s\n", FILENAME, FNR, $0
    ++complaints
  }
}
{ before = $0 }
END {
  printf "%d classes and functions, %d complaints\n", found, complaints
  exit complaints > 0 || found == 0
}' "${headers[@]}"
