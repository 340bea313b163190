#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""recipes.py SOURCE VERSION: fails unless the recipes of vcpkg and Conan parse and are for this version."""

import ast
import json
import pathlib
import re
import sys

source, version = pathlib.Path(sys.argv[1]), sys.argv[2]

ast.parse((source / "conanfile.py").read_text())
found = json.loads((source / "vcpkg.json").read_text())["version"]
# conanfile.py reads its version from this line.
declared = re.search(r"project\(latchkey VERSION ([0-9.]+)", (source / "CMakeLists.txt").read_text()).group(1)
if not version == found == declared:
    sys.exit(f"vcpkg.json has the version {found}, Conan finds {declared}, and CMake has {version}")
