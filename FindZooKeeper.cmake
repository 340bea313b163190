# SPDX-License-Identifier: Apache-2.0
#[=[
Finds libzookeeper_mt, the threaded C client of ZooKeeper. Debian ships neither a CMake nor a pkg-config file for it.
Defines the target ZooKeeper::zookeeper_mt and the variable ZooKeeper_VERSION.
]=]
find_path(ZooKeeper_INCLUDE_DIR zookeeper/zookeeper.h)
find_library(ZooKeeper_LIBRARY zookeeper_mt)
if(NOT ZooKeeper_LIBRARY) # vcpkg has a target, under another name
  find_package(unofficial-zookeeper CONFIG QUIET)
  if(TARGET unofficial::zookeeper::zookeeper)
    set(ZooKeeper_LIBRARY unofficial::zookeeper::zookeeper)
  endif()
endif()
if(ZooKeeper_INCLUDE_DIR AND EXISTS "${ZooKeeper_INCLUDE_DIR}/zookeeper/zookeeper_version.h")
  file(STRINGS "${ZooKeeper_INCLUDE_DIR}/zookeeper/zookeeper_version.h" zookeeper_version_line_ REGEX "ZOO_VERSION|ZOO_(MAJOR|MINOR|PATCH)_VERSION")
  if("${zookeeper_version_line_}" MATCHES "ZOO_VERSION[ \t]+\"([0-9.]+)")
    set(ZooKeeper_VERSION "${CMAKE_MATCH_1}")
  elseif("${zookeeper_version_line_}" MATCHES "MAJOR_VERSION[ \t]+([0-9]+).*MINOR_VERSION[ \t]+([0-9]+).*PATCH_VERSION[ \t]+([0-9]+)")
    set(ZooKeeper_VERSION "${CMAKE_MATCH_1}.${CMAKE_MATCH_2}.${CMAKE_MATCH_3}")
  endif()
  unset(zookeeper_version_line_)
endif()
include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(ZooKeeper
  REQUIRED_VARS ZooKeeper_LIBRARY ZooKeeper_INCLUDE_DIR
  VERSION_VAR ZooKeeper_VERSION
  REASON_FAILURE_MESSAGE "On Debian: apt-get install libzookeeper-mt-dev")
if(ZooKeeper_FOUND AND NOT TARGET ZooKeeper::zookeeper_mt)
  add_library(ZooKeeper::zookeeper_mt INTERFACE IMPORTED)
  set_target_properties(ZooKeeper::zookeeper_mt PROPERTIES
    INTERFACE_LINK_LIBRARIES "${ZooKeeper_LIBRARY}"
    INTERFACE_INCLUDE_DIRECTORIES "${ZooKeeper_INCLUDE_DIR}"
    INTERFACE_COMPILE_DEFINITIONS THREADED)
endif()
mark_as_advanced(ZooKeeper_INCLUDE_DIR ZooKeeper_LIBRARY)
