# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# Where packages of another Debian come from. To be sourced.

# Prints what this machine's apt knows of Debian, for another suite: lines of sources.list. Argument: the suite.
sources() {
  local here entry file codename uri component key
  # shellcheck disable=SC1091
  here=$(. /etc/os-release && echo "${VERSION_CODENAME:-}")
  # shellcheck disable=SC2016 # apt's own variables
  apt-get indextargets --format '$(ORIGIN)|$(SOURCESENTRY)|$(CODENAME)|$(REPO_URI)|$(COMPONENT)' 'Created-By: Packages' |
    while IFS='|' read -r origin entry codename uri component; do
      if [[ $origin != Debian || ! $codename =~ ^$here(-updates|-security)?$ ]]; then continue; fi
      file=${entry%:*}
      key=$(sed -nE 's/^(Signed-By: *|deb .*signed-by=)(\/[^] ]+).*/\2/Ip' "$file" | head -n 1)
      echo "deb ${key:+[signed-by=$key] }$uri $1${BASH_REMATCH[1]} $component"
    done | sort -u
}
