#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Breaks one rule of the code at a time, and runs the tests that have to notice.

    tests/mutants/run.py                 every mutant: about a minute each
    tests/mutants/run.py WORD...         those with one of the words in their names
    tests/mutants/run.py --check         only whether each mutant still fits the code; this is a test

A mutant is a row of `table.py`: a file, some text that occurs there once, and what takes its place. The sources are copied
to build/mutants/, and built there. Exits non-zero if a mutant survives that has no reason to, or is caught though it has
one, or does not compile."""

import argparse
import os
import pathlib
import shutil
import subprocess
import sys
import time

sys.dont_write_bytecode = True
from table import mutants  # noqa: E402

root = pathlib.Path(__file__).resolve().parents[2]
work = root / "build" / "mutants"
tree = work / "tree"
build = work / "build"

# In the order in which they are built and run, the quickest first.
programs = (
    ("unit_tests", "tests/unit/unit_tests", ("--test-suite=departures,liveness,peers,peer message,session records,udp port",), {}),
    ("session_file_tests", "tests/unit/session_file_tests", (), {}),
    ("simulated_tests", "tests/simulated/simulated_tests", ("--source-file=*coroutines_test*,*asio_test*,*destroyed_lock*",), {}),
    ("fake_tests", "tests/unit/fake_tests", (), {}),
    ("histories", "tests/simulation/histories_tests", ("--test-case=random histories*,random robust*",), {"LATCHKEY_HISTORIES": "1250"}),
)


of_command = (
    ("command_unit_tests", "tests/command/command_unit_tests", (), {}),
    ("command_tests", "tests/command/command_tests", ("--test-case=the command is dead before the next*,its session is not ended while*",), {}),
)


def programs_for(file):
    return of_command if file.startswith("examples/command/") else programs


def misfits():
    """Mutants whose text does not occur once."""
    found = []
    for each in mutants:
        count = (root / each.file).read_text().count(each.old)
        if count != 1:
            found.append(f"{each.name}: its text occurs {count} times in {each.file}")
        if each.old == each.new:
            found.append(f"{each.name}: it changes nothing")
    names = [each.name for each in mutants]
    return found + [f"{name}: two have this name" for name in set(names) if names.count(name) > 1]


def copy_sources():
    listed = subprocess.run(["git", "ls-files", "-co", "--exclude-standard"], cwd=root, check=True, capture_output=True, text=True)
    for name in listed.stdout.splitlines():
        source, copy = root / name, tree / name
        if not source.is_file():
            continue
        if not copy.exists() or copy.read_bytes() != source.read_bytes():
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(source, copy)


def caught_by(log, those):
    """The first program that fails, or the compiler; none."""
    for name, path, options, environment in those:
        target = path.rsplit("/", 1)[1]
        make = ["cmake", "--build", build, "--parallel", str(os.cpu_count()), "--target", target]
        if subprocess.run(make, stdout=log, stderr=log).returncode != 0:
            return "the compiler"
        command = ["timeout", "600", build / path, "--abort-after=1", *options]
        if subprocess.run(command, stdout=log, stderr=log, env={**os.environ, **environment}).returncode != 0:
            return name
    return None


def run(each):
    """Prints what came of one mutant. Returns whether that is as it should be."""
    file = tree / each.file
    before = file.read_text()
    start = time.monotonic()
    with open(work / "logs" / f"{each.name.replace(' ', '_').replace('/', '_')}.log", "w") as log:
        file.write_text(before.replace(each.old, each.new))
        try:
            by = caught_by(log, programs_for(each.file))
        finally:
            file.write_text(before)
    expected = by is None if each.harmless else by not in (None, "the compiler")
    verdict = f"caught by {by}" if by else f"survives: {each.harmless}" if each.harmless else "SURVIVES"
    print(f"{'ok    ' if expected else 'FAILED'} {each.name}: {verdict} ({time.monotonic() - start:.0f} s)", flush=True)
    return expected


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true")
    parser.add_argument("words", nargs="*")
    options = parser.parse_args()
    wrong = misfits()
    for each in wrong:
        print(each)
    if options.check or wrong:
        print(f"{len(mutants)} mutants, {len(wrong)} of them do not fit the code")
        sys.exit(1 if wrong else 0)
    chosen = [each for each in mutants if not options.words or any(word in each.name for word in options.words)]
    (work / "logs").mkdir(parents=True, exist_ok=True)
    copy_sources()
    subprocess.run(["cmake", "-S", tree, "-B", build, "--preset", "dev", "-DLATCHKEY_BUILD_EXAMPLES=OFF",
                    "-DLATCHKEY_BUILD_INTEROP_TESTS=OFF"], cwd=tree, check=True, stdout=subprocess.DEVNULL)
    with open(work / "logs" / "none.log", "w") as log:
        wanted = [programs_for(each.file) for each in chosen]
        if any(caught_by(log, those) for those in (programs, of_command) if those in wanted):
            sys.exit("the tests fail without a mutant: see build/mutants/logs/none.log")
    bad = sum(not run(each) for each in chosen)
    print(f"{len(chosen) - bad} passed, {bad} failed")
    sys.exit(1 if bad or not chosen else 0)


main()
