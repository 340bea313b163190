#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Runs moving_servers_tests with a real name server in place of a table in the program: a network and a mount namespace of
# its own, in which the resolver of the C library asks a name server on the loopback. Needs root, or user namespaces.
# Usage: name_server.sh PATH/TO/moving_servers_tests [doctest options]
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
if [ -z "${LATCHKEY_IN_NAMESPACE:-}" ]; then
  LATCHKEY_IN_NAMESPACE=1 exec unshare --map-root-user --net --mount -- "$0" "$@"
fi
folder=$(mktemp -d)
server=
trap '[ -z "$server" ] || kill "$server"; rm -rf "$folder"' EXIT
ip link set lo up
echo "nameserver 127.0.0.1" > "$folder/resolv.conf"
echo "hosts: dns" > "$folder/nsswitch.conf"
mount --bind "$folder/resolv.conf" /etc/resolv.conf
mount --bind "$folder/nsswitch.conf" /etc/nsswitch.conf
: > "$folder/zone"
python3 "$here/name_server.py" "$folder/zone" 127.0.0.1 > "$folder/ready" &
server=$!
until grep -q ready "$folder/ready"; do kill -0 "$server"; sleep 0.1; done
LATCHKEY_ZONE_FILE=$folder/zone "$@"
