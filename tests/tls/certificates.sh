#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# tests/tls/certificates.sh FOLDER NAME...: makes in FOLDER the certificate authorities ca.pem and other-ca.pem, and for
# each NAME a certificate of the first one: NAME.pem, NAME.key, and both in NAME.store.pem, as ZooKeeper wants them.
set -euo pipefail

cd "${1:?which folder?}"
shift
new_key=(-newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes)

for authority in ca other-ca; do
  openssl req -x509 "${new_key[@]}" -days 2 -subj "/CN=$authority" -keyout "$authority.key" -out "$authority.pem"
done
for name; do
  openssl req "${new_key[@]}" -subj "/CN=$name" -keyout "$name.key" -out "$name.csr"
  openssl x509 -req -in "$name.csr" -CA ca.pem -CAkey ca.key -CAcreateserial -days 2 \
    -extfile <(printf 'subjectAltName=DNS:%s\n' "$name") -out "$name.pem"
  cat "$name.pem" "$name.key" >"$name.store.pem"
done
