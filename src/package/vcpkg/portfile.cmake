# SPDX-License-Identifier: Apache-2.0
# This folder is an overlay port of vcpkg: `vcpkg install latchkey --overlay-ports=<this folder>`.
vcpkg_check_features(OUT_FEATURE_OPTIONS options FEATURES fibers LATCHKEY_FIBERS)
vcpkg_cmake_configure(SOURCE_PATH "${CURRENT_PORT_DIR}/../../.." OPTIONS ${options}
  -DLATCHKEY_BUILD_SIMULATION=OFF -DLATCHKEY_BUILD_TESTCLUSTER=OFF -DLATCHKEY_BUILD_COMMAND=OFF
  -DLATCHKEY_BUILD_TESTS=OFF -DLATCHKEY_BUILD_EXAMPLES=OFF)
vcpkg_cmake_install()
vcpkg_cmake_config_fixup(CONFIG_PATH lib/cmake/latchkey)
vcpkg_fixup_pkgconfig()
file(REMOVE_RECURSE "${CURRENT_PACKAGES_DIR}/debug/include" "${CURRENT_PACKAGES_DIR}/debug/share")
vcpkg_install_copyright(FILE_LIST "${CURRENT_PORT_DIR}/../../../LICENSE")
