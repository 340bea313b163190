#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# debian_build.sh SOURCE WORK REUSED [OPTION...]: builds the Debian packages in WORK/build, with further options of CMake, and
# unpacks them to WORK/root. Fails if the libraries export what is internal, or a hardening flag of the preset is missing.
# Unless LATCHKEY_LONG is set, objects are those of the build REUSED, if that is not empty (reuse.sh).
set -euo pipefail

source=${1:?which source?}
work=${2:?which folder?}
reused=${3?which build?}
shift 3
cd "$source"
if [[ -n ${LATCHKEY_LONG:-} ]]; then
  reused=
  # What only an optimiser notices.
  if [[ ${CI:-} == true ]]; then set -- "$@" -DCMAKE_COMPILE_WARNING_AS_ERROR=ON; fi
fi
if [[ -n $reused ]]; then
  export LATCHKEY_OBJECTS=$reused
  set -- "$@" "-DCMAKE_CXX_COMPILER_LAUNCHER=$source/tests/package/reuse.sh"
fi
rm -rf "$work/root" "$work/debug" "$work/build/"*.deb "$work/build/"*.ddeb
cmake --preset debian -S "$source" -B "$work/build" "$@"
cmake --build "$work/build" --parallel "$(nproc)" --target package
for package in "$work/build/"*.deb; do
  dpkg-deb --info "$package"
  dpkg-deb --extract "$package" "$work/root"
done
for package in "$work/build/"*.ddeb; do
  dpkg-deb --extract "$package" "$work/debug"
done

failed=0
# what was found, what is right, what it is
expect() {
  [[ $1 == "$2" ]] && return
  printf '%s: expected\n%s\nbut found\n%s\n' "$3" "$2" "$1"
  failed=1
}

latchkey=$(find "$work/root/usr/lib" -name 'liblatchkey.so.*.*.*')
testcluster=$(find "$work/root/usr/lib" -name 'liblatchkey_testcluster.so.*.*.*')
programs=("$work/root/usr/bin/latchkey-testcluster" "$work/root/usr/bin/latchkey")

# Coroutines begin calls of `asynchronous`, which are `pending`; the simulated ensemble calls the other ones of detail, as it
# runs what is a thread of a client elsewhere. The rest are constructors that take a part of latchkey.
internal=$(nm --dynamic --demangle --defined-only "$latchkey" | cut -c20- | grep 'latchkey::detail' | sed 's/(.*//' | sort -u)
expect "$internal" "latchkey::client::client
latchkey::detail::asynchronous::begin_to_check
latchkey::detail::asynchronous::begin_to_commit
latchkey::detail::asynchronous::begin_to_connect
latchkey::detail::asynchronous::begin_to_read
latchkey::detail::asynchronous::begin_to_wait_for_end
latchkey::detail::client_core::abandon
latchkey::detail::client_core::post
latchkey::detail::event_thread::post
latchkey::detail::event_thread::posted
latchkey::detail::forks
latchkey::detail::home::home
latchkey::detail::monitor::refuse_call_from_inside
latchkey::detail::monitor::refuse_child
latchkey::detail::monitor::run_due
latchkey::detail::shape_of
latchkey::detail::validate_path
latchkey::detail::wait_point::notify
latchkey::detail::wait_point::wait
latchkey::detail::wait_point::~wait_point
latchkey::detail::zookeeper_name[abi:cxx11]
latchkey::guard::guard
latchkey::ticket::ticket
typeinfo for latchkey::detail::pending<bool>
typeinfo for latchkey::detail::pending<latchkey::guard>
typeinfo for latchkey::detail::pending<latchkey::ticket>
typeinfo for latchkey::detail::pending_call
typeinfo for latchkey::detail::pending_call::continuation
typeinfo name for latchkey::detail::pending<bool>
typeinfo name for latchkey::detail::pending<latchkey::guard>
typeinfo name for latchkey::detail::pending<latchkey::ticket>
typeinfo name for latchkey::detail::pending_call
typeinfo name for latchkey::detail::pending_call::continuation" "exported symbols with names of latchkey::detail"
internal=$(nm --dynamic --demangle --defined-only "$testcluster" | cut -c20- | sed -E 's/^(vtable|typeinfo( name)?) for //' |
  grep -E '^(latchkey::testing::detail|boost::asio)::' || true)
expect "$internal" "" "internal symbols of the test cluster"

version=$(basename "$latchkey" | sed 's/.*\.so\.\([0-9]*\.[0-9]*\).*/\1/')
for library in "$latchkey" "$testcluster"; do
  name=$(basename "$library")
  soname=$(readelf --dynamic --wide "$library" | sed -n 's/.*SONAME.*\[\(.*\)\]/\1/p')
  expect "$soname" "${name%%.so*}.so.$version" "soname of $name"
done

for file in "$latchkey" "$testcluster" "${programs[@]}"; do
  name=$(basename "$file")
  segments=$(readelf --segments --wide "$file")
  expect "$(awk '$1 == "GNU_STACK" { print $7 }' <<<"$segments")" RW "access of $name to its stack"
  expect "$(grep -c GNU_RELRO <<<"$segments")" 1 "segments of $name that are read-only after relocation"
  flags=$(readelf --dynamic --wide "$file" | sed -n 's/.*(FLAGS_1) *//p')
  wanted="Flags: NOW"
  if [[ $file == */bin/* ]]; then wanted+=" PIE"; fi
  expect "$flags" "$wanted" "dynamic flags of $name"
  if [[ -z $reused ]]; then
    expect "$(nm --dynamic --undefined-only "$file" | grep -c __stack_chk_fail)" 1 "references of $name to __stack_chk_fail"
  fi
done
plain=$(grep '"command"' "$work/build/compile_commands.json" |
  grep -v -e '-O3 -DNDEBUG .*-D_FORTIFY_SOURCE=2 -fstack-protector-strong -fstack-clash-protection' || true)
expect "$plain" "" "commands that compile without a hardening flag"

# For gdb: the script has the name for which it looks, and the debug information is that of the library.
script=$work/root/usr/share/gdb/auto-load${latchkey#"$work/root"}-gdb.py
expect "$(cmp "$source/src/package/latchkey-gdb.py" "$script" 2>&1)" "" "script for gdb that is not that of the source"
ask_gdb() { gdb -nx -batch -iex "set debug-file-directory $work/debug/usr/lib/debug" "$@" "$latchkey" 2>&1; }
expect "$(ask_gdb -ex "info sources mutex.cpp" | grep -o 'recipes/mutex\.cpp' | sort -u)" recipes/mutex.cpp "a source of the library"
if [[ -z $reused ]]; then
  expect "$(ask_gdb -ex "python print(gdb.lookup_type('latchkey::detail::client_core').fields() != [])" | tail -n 1)" True "whether a type of the library is known"
fi

for page in latchkey-testcluster latchkey latchkey-run; do
  expect "$(groff -man -ww -z "$work/root/usr/share/man/man1/$page.1" 2>&1)" "" "warnings about the manual page of $page"
done

# The command: its settings file is a conffile, and says nothing until it is edited.
tools=$(find "$work/build" -maxdepth 1 -name 'latchkey-tools_*.deb')
expect "$(dpkg-deb --field "$tools" Section)" admin "section of latchkey-tools"
expect "$(dpkg-deb --info "$tools" conffiles)" /etc/latchkey.conf "conffiles of latchkey-tools"
expect "$(grep -v '^#' "$work/root/etc/latchkey.conf")" "" "settings in latchkey.conf"
expect "$(LD_LIBRARY_PATH=$(dirname "$latchkey") "$work/root/usr/bin/latchkey" completion bash |
  cmp - "$work/root/usr/share/bash-completion/completions/latchkey" 2>&1)" "" "completion that is not that of the program"
exit $failed
