#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# static_client.sh SOURCE WORK CXX: a static C client as ZooKeeper's own CMakeLists.txt builds it, in two libraries and with
# OpenSSL, is linked with what it needs, and TLS is on. Exits with 77 where OpenSSL cannot be linked.
set -euo pipefail

source=${1:?which source?}
work=${2:?which folder?}
cxx=${3:?which compiler?}

rm -rf "$work"
mkdir -p "$work"
cd "$work"
if ! "$cxx" -x c++ - -o linked -lssl -lcrypto <<<'#include <openssl/ssl.h>
int main() { return SSL_CTX_new(TLS_method()) == nullptr; }'; then
  echo "skipped: OpenSSL cannot be linked (Debian package 'libssl-dev')"
  exit 77
fi
"$cxx" -x c++ -c -o client.o - <<<'#include <openssl/ssl.h>
extern "C" int create_hashtable();
extern "C" int zookeeper_init_ssl() { return SSL_CTX_new(TLS_method()) == nullptr || create_hashtable(); }'
"$cxx" -x c++ -c -o hashtable.o - <<<'extern "C" int create_hashtable() { return 0; }'
ar rcs libzookeeper.a client.o
ar rcs libhashtable.a hashtable.o

cmake --preset release -S "$source" -B build -DCMAKE_CXX_COMPILER="$cxx" -DZooKeeper_LIBRARY="$work/libzookeeper.a"
grep -x 'LATCHKEY_HAVE_ZOOKEEPER_TLS:INTERNAL=1' build/CMakeCache.txt
grep -x 'Requires: .*, openssl' build/latchkey.pc
grep -x 'Libs: .* -lzookeeper -lhashtable -lm -pthread' build/latchkey.pc
