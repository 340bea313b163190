#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""recipes.py SOURCE VERSION: fails unless the recipes of vcpkg and Conan parse and are for this version, and Conan takes
along each page that is installed."""

import ast
import fnmatch
import json
import pathlib
import re
import sys

source, version = pathlib.Path(sys.argv[1]), sys.argv[2]

recipe = ast.parse((source / "conanfile.py").read_text())
found = json.loads((source / "src/package/vcpkg/vcpkg.json").read_text())["version"]
# conanfile.py reads its version from this line.
declared = re.search(r"project\(latchkey VERSION ([0-9.]+)", (source / "CMakeLists.txt").read_text()).group(1)
if not version == found == declared:
    sys.exit(f"vcpkg.json has the version {found}, Conan finds {declared}, and CMake has {version}")

exported = next(
    ast.literal_eval(node.value)
    for node in ast.walk(recipe)
    if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "exports_sources"
)
pages = re.findall(r"[\w./-]+\.(?:md|svg|py)\b|LICENSE", (source / "src/package/packages.cmake").read_text())
missing = [page for page in pages if not any(fnmatch.fnmatch(page, pattern) for pattern in exported)]
if missing or len(pages) < 10:
    sys.exit(f"of {len(pages)} pages that are installed, conanfile.py does not export {missing}")
