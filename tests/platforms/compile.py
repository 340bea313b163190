#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""compile.py SOURCE WORK COMPILER STANDARD all|user: fails when the compiler warns.

all: library, simulation, test cluster and examples, with the warnings of the presets. With LATCHKEY_LONG g++ gets them file
by file in C++20, which shows whether each includes what it uses.
user: the public headers and the programs of tests/package/consumer, with the warnings that users often have.
Nothing is generated, only parsed and checked.
"""
import json
import os
import pathlib
import shlex
import subprocess
import sys

source, work, compiler, standard, what = sys.argv[1:]
source, work = pathlib.Path(source), pathlib.Path(work)


def configured():
    """The commands of a build with this compiler."""
    by_file = "LATCHKEY_LONG" in os.environ and pathlib.Path(compiler).name == "g++" and standard == "20"
    subprocess.run(
        ["cmake", "--preset", "dev", "-S", source, "-B", work, f"-DCMAKE_CXX_COMPILER={compiler}",
         f"-DCMAKE_CXX_STANDARD={standard}",
         f"-DCMAKE_UNITY_BUILD={'OFF' if by_file else 'ON'}", "-DLATCHKEY_BUILD_TESTS=OFF"],
        check=True, stdout=subprocess.DEVNULL)
    for entry in json.loads((work / "compile_commands.json").read_text()):
        if "verify_interface" not in entry["file"]:  # each header by itself: the build of all tests has it
            yield shlex.split(entry["command"]), entry["directory"]


def of_user():
    """Programs that include all public headers, one with each Asio, and those that a user may write."""
    work.mkdir(parents=True, exist_ok=True)
    folders = [source / "include", source / "testcluster/include"]
    headers = sorted(str(path.relative_to(folder)) for folder in folders for path in folder.rglob("*.hpp"))
    asio = ["latchkey/asio.hpp", "latchkey/boost_asio.hpp"]  # a file has one of them
    programs = []
    for mine in asio:
        programs.append(work / f"all_with_{pathlib.Path(mine).stem}.cpp")
        included = [header for header in headers if header == mine or header not in asio]
        programs[-1].write_text("".join(f"#include <{header}>\n" for header in included))
    warnings = "-Wall -Wextra -Wpedantic -Wconversion -Wshadow".split()
    for program in [*programs, *sorted((source / "tests/package/consumer").glob("*.cpp"))]:
        yield [compiler, f"-std=c++{standard}", *warnings, *(f"-I{folder}" for folder in folders), str(program)], work


def check(command, folder):
    done = subprocess.run([*command, "-Werror", "-fsyntax-only"], cwd=folder, capture_output=True, text=True)
    return "" if done.returncode == 0 and not done.stderr else f"{shlex.join(command)}\n{done.stderr}"


commands = list(configured() if what == "all" else of_user())
said = [text for text in (check(*each) for each in commands) if text]  # CTest runs others beside it
print("\n".join(said), f"{len(commands)} compiled", sep="\n")
sys.exit(1 if said or not commands else 0)
