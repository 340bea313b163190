# SPDX-License-Identifier: Apache-2.0
"""Recipe for Conan 2: `conan create .`"""

import os
import re

from conan import ConanFile
from conan.tools.build import check_min_cppstd
from conan.tools.cmake import CMake, CMakeDeps, CMakeToolchain, cmake_layout
from conan.tools.files import copy, load


class LatchkeyConan(ConanFile):
    name = "latchkey"
    description = "Locks for C++ services on a ZooKeeper ensemble"
    license = "Apache-2.0"
    topics = ("zookeeper", "lock", "distributed", "fibers")
    package_type = "library"
    settings = "os", "arch", "compiler", "build_type"
    options = {"shared": [True, False], "fPIC": [True, False], "fibers": [True, False]}
    default_options = {"shared": False, "fPIC": True, "fibers": True}
    implements = ["auto_shared_fpic"]
    exports_sources = (
        "CMakeLists.txt", "LICENSE", "*.md", "*.svg", "include/*", "recipes/*", "src/*",
        "examples/*", "tests/interop/kazoo/*",  # are installed as documentation
    )

    def set_version(self):
        project = load(self, os.path.join(self.recipe_folder, "CMakeLists.txt"))
        self.version = re.search(r"project\(latchkey VERSION ([0-9.]+)", project).group(1)

    def requirements(self):
        self.requires("fmt/[>=9 <12]")
        self.requires("libsodium/[>=1.0.18 <2]")
        self.requires("nlohmann_json/[>=3.11 <4]")
        self.requires("zookeeper-client-c/[>=3.8 <4]")
        if self.options.fibers:
            self.requires("boost/[>=1.74 <2]")

    def validate(self):
        check_min_cppstd(self, 20)

    def layout(self):
        cmake_layout(self)

    def generate(self):
        # The recipe of the C client installs its headers without their folder, and does not say that it is threaded.
        headers = os.path.join(self.generators_folder, "include")
        client = self.dependencies["zookeeper-client-c"].cpp_info
        copy(self, "*.h", client.includedirs[0], os.path.join(headers, "zookeeper"))
        toolchain = CMakeToolchain(self)
        toolchain.cache_variables["CMAKE_CXX_STANDARD_INCLUDE_DIRECTORIES"] = headers
        toolchain.preprocessor_definitions["THREADED"] = "1"
        toolchain.cache_variables["LATCHKEY_FIBERS"] = bool(self.options.fibers)
        for part in ("SIMULATION", "TESTCLUSTER", "COMMAND", "TESTS", "EXAMPLES"):
            toolchain.cache_variables[f"LATCHKEY_BUILD_{part}"] = False
        toolchain.generate()
        dependencies = CMakeDeps(self)
        dependencies.set_property("zookeeper-client-c", "cmake_file_name", "ZooKeeper")
        dependencies.set_property("zookeeper-client-c", "cmake_target_name", "ZooKeeper::zookeeper_mt")
        dependencies.generate()

    def build(self):
        cmake = CMake(self)
        cmake.configure()
        cmake.build()

    def package(self):
        CMake(self).install()
        copy(self, "LICENSE", self.source_folder, os.path.join(self.package_folder, "licenses"))

    def package_info(self):
        self.cpp_info.set_property("cmake_file_name", "latchkey")
        self.cpp_info.set_property("cmake_target_name", "latchkey::latchkey")
        self.cpp_info.libs = ["latchkey"]
        self.cpp_info.system_libs = ["pthread"]
        self.cpp_info.requires = [
            "fmt::fmt",
            "libsodium::libsodium",
            "nlohmann_json::nlohmann_json",
            "zookeeper-client-c::zookeeper-client-c",
        ]
        if self.options.fibers:
            self.cpp_info.requires += ["boost::context", "boost::fiber"]
