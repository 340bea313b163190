#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# A compiler launcher for what tests packaging, not compiling: an object that the build in $LATCHKEY_OBJECTS has, too, is
# taken from there. All else is compiled.
set -euo pipefail

object='' dependencies=''
for ((i = 1; i < $#; ++i)); do
  next=$((i + 1))
  case ${!i} in
    -o) object=${!next} ;;
    -MF) dependencies=${!next} ;;
  esac
done
taken=${LATCHKEY_OBJECTS:?which build?}/${object#latchkey/} # the folder of consumer/CMakeLists.txt
if [[ -z $object || -z $dependencies || ! -f $taken ]]; then exec "$@"; fi
cp "$taken" "$object"
echo "$object: $taken" >"$dependencies"
