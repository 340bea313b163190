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
find_library(ZooKeeper_LIBRARY zookeeper) # as ZooKeeper's own CMakeLists.txt names it: static
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
  set(zookeeper_libraries_ "${ZooKeeper_LIBRARY}")
  if(ZooKeeper_LIBRARY MATCHES "\\.a$") # does not say what it needs itself
    cmake_path(GET ZooKeeper_LIBRARY PARENT_PATH zookeeper_folder_)
    find_library(ZooKeeper_HASHTABLE_LIBRARY hashtable PATHS "${zookeeper_folder_}" NO_DEFAULT_PATH)
    mark_as_advanced(ZooKeeper_HASHTABLE_LIBRARY)
    if(ZooKeeper_HASHTABLE_LIBRARY) # of the same CMakeLists.txt
      list(APPEND zookeeper_libraries_ "${ZooKeeper_HASHTABLE_LIBRARY}")
    endif()
    file(STRINGS "${ZooKeeper_LIBRARY}" zookeeper_ssl_ LIMIT_COUNT 1 REGEX "SSL_CTX_new")
    if(zookeeper_ssl_)
      find_package(OpenSSL REQUIRED)
      list(APPEND zookeeper_libraries_ OpenSSL::SSL OpenSSL::Crypto)
    endif()
    find_package(Threads REQUIRED)
    list(APPEND zookeeper_libraries_ Threads::Threads m)
    unset(zookeeper_folder_)
    unset(zookeeper_ssl_)
  endif()
  add_library(ZooKeeper::zookeeper_mt INTERFACE IMPORTED)
  set_target_properties(ZooKeeper::zookeeper_mt PROPERTIES
    INTERFACE_LINK_LIBRARIES "${zookeeper_libraries_}"
    INTERFACE_INCLUDE_DIRECTORIES "${ZooKeeper_INCLUDE_DIR}"
    INTERFACE_COMPILE_DEFINITIONS THREADED)
  unset(zookeeper_libraries_)
endif()
mark_as_advanced(ZooKeeper_INCLUDE_DIR ZooKeeper_LIBRARY)
