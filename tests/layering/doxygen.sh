#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# tests/layering/doxygen.sh FOLDER DOXYGEN OUTPUT: fails when Doxygen warns of a comment of a public header of the
# project in FOLDER. Writes the reference to OUTPUT/html.
set -euo pipefail

cd "${1:?which folder?}"
doxygen=${2:?which doxygen?}
output=${3:?which folder for the output?}

mkdir -p "$output"
# The last of two settings counts.
{
  cat tests/layering/Doxyfile
  printf 'OUTPUT_DIRECTORY = "%s"\n' "$output"
} | "$doxygen" -
pages=$(find "$output/html" -name 'classlatchkey_*.html' | wc -l)
printf '%d classes documented, no warning\n' "$pages"
if ((pages == 0)); then exit 1; fi
