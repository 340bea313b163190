# SPDX-License-Identifier: Apache-2.0
# What is installed: the library with its headers, files for find_package and pkg-config, and what else was built.
# Included by the CMakeLists.txt of the root: file names start there.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)
set(latchkey_config_dir "${CMAKE_INSTALL_LIBDIR}/cmake/latchkey")

# A static library leaves the linking of what it uses to its user, a shared one has done it.
get_target_property(latchkey_type latchkey TYPE)
set(LATCHKEY_IS_STATIC OFF)
set(LATCHKEY_PC_REQUIRES "")
set(LATCHKEY_PC_LIBS "")
if(latchkey_type STREQUAL "STATIC_LIBRARY")
  set(LATCHKEY_IS_STATIC ON)
  set(LATCHKEY_PC_REQUIRES "fmt >= 9, libsodium")
  set(LATCHKEY_PC_LIBS "-lzookeeper_mt -pthread")
  if(ZooKeeper_LIBRARY MATCHES "/libzookeeper\\.a$")
    set(LATCHKEY_PC_LIBS "-lzookeeper -lhashtable -lm -pthread")
  endif()
  if(LATCHKEY_HAVE_ZOOKEEPER_TLS AND ZooKeeper_LIBRARY MATCHES "\\.a$")
    string(APPEND LATCHKEY_PC_REQUIRES ", openssl")
  endif()
  if(LATCHKEY_FIBERS)
    string(PREPEND LATCHKEY_PC_LIBS "-lboost_fiber -lboost_context ")
  endif()
endif()

install(TARGETS latchkey EXPORT latchkey
  LIBRARY COMPONENT runtime NAMELINK_COMPONENT development
  ARCHIVE COMPONENT development
  FILE_SET HEADERS COMPONENT development)
# gdb loads the file by itself that is named after the shared library that a program has; any other program needs `source`.
install(FILES src/package/latchkey-gdb.py DESTINATION "${CMAKE_INSTALL_DATADIR}/latchkey" COMPONENT development)
if(latchkey_type STREQUAL "SHARED_LIBRARY")
  install(FILES src/package/latchkey-gdb.py RENAME "liblatchkey.so.${PROJECT_VERSION}-gdb.py"
    DESTINATION "${CMAKE_INSTALL_DATADIR}/gdb/auto-load${CMAKE_INSTALL_FULL_LIBDIR}" COMPONENT development)
endif()
install(EXPORT latchkey FILE latchkey-targets.cmake NAMESPACE latchkey:: DESTINATION "${latchkey_config_dir}"
  COMPONENT development)
if(TARGET latchkey_simulation)
  install(TARGETS latchkey_simulation EXPORT latchkey-simulation
    ARCHIVE COMPONENT development FILE_SET HEADERS COMPONENT development)
  install(EXPORT latchkey-simulation FILE latchkey-simulation-targets.cmake NAMESPACE latchkey::
    DESTINATION "${latchkey_config_dir}" COMPONENT development)
endif()
if(TARGET latchkey_testcluster)
  install(TARGETS latchkey_testcluster EXPORT latchkey-testcluster
    LIBRARY COMPONENT testcluster ARCHIVE COMPONENT testcluster FILE_SET HEADERS COMPONENT testcluster)
  install(EXPORT latchkey-testcluster FILE latchkey-testcluster-targets.cmake NAMESPACE latchkey::
    DESTINATION "${latchkey_config_dir}" COMPONENT testcluster)
  set_target_properties(testcluster PROPERTIES INSTALL_RPATH "$ORIGIN/../${CMAKE_INSTALL_LIBDIR}")
  install(TARGETS testcluster RUNTIME COMPONENT testcluster)
  install(FILES testcluster/latchkey-testcluster.1 DESTINATION "${CMAKE_INSTALL_MANDIR}/man1" COMPONENT testcluster)
endif()
if(TARGET latchkey_command)
  set_target_properties(latchkey_command PROPERTIES INSTALL_RPATH "$ORIGIN/../${CMAKE_INSTALL_LIBDIR}")
  install(TARGETS latchkey_command RUNTIME COMPONENT tools)
  install(FILES examples/command/latchkey.1 examples/command/latchkey-run.1 DESTINATION "${CMAKE_INSTALL_MANDIR}/man1" COMPONENT tools)
  if(NOT CMAKE_CROSSCOMPILING) # the program writes it
    install(FILES "$<TARGET_FILE_DIR:latchkey_command>/completion.bash" RENAME latchkey
      DESTINATION "${CMAKE_INSTALL_DATADIR}/bash-completion/completions" COMPONENT tools)
  endif()
endif()
configure_package_config_file(src/package/latchkey-config.cmake.in latchkey-config.cmake
  INSTALL_DESTINATION "${latchkey_config_dir}" NO_SET_AND_CHECK_MACRO)
write_basic_package_version_file(latchkey-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES
  "${CMAKE_CURRENT_BINARY_DIR}/latchkey-config.cmake"
  "${CMAKE_CURRENT_BINARY_DIR}/latchkey-config-version.cmake"
  src/package/FindZooKeeper.cmake
  DESTINATION "${latchkey_config_dir}" COMPONENT development)

install(FILES src/package/latchkey-tsan.supp src/package/latchkey-lsan.supp
  DESTINATION "${CMAKE_INSTALL_DATADIR}/latchkey" COMPONENT development)

# Relative to the .pc file, so that an installation can be moved.
cmake_path(RELATIVE_PATH CMAKE_INSTALL_FULL_LIBDIR BASE_DIRECTORY "${CMAKE_INSTALL_PREFIX}" OUTPUT_VARIABLE latchkey_libdir)
cmake_path(RELATIVE_PATH CMAKE_INSTALL_FULL_INCLUDEDIR BASE_DIRECTORY "${CMAKE_INSTALL_PREFIX}" OUTPUT_VARIABLE latchkey_includedir)
cmake_path(RELATIVE_PATH CMAKE_INSTALL_PREFIX BASE_DIRECTORY "${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig" OUTPUT_VARIABLE latchkey_prefix)
configure_file(src/package/latchkey.pc.in latchkey.pc @ONLY)
install(FILES "${CMAKE_CURRENT_BINARY_DIR}/latchkey.pc" DESTINATION "${CMAKE_INSTALL_LIBDIR}/pkgconfig"
  COMPONENT development)
if(TARGET latchkey_simulation)
  configure_file(testcluster/latchkey-simulation.pc.in latchkey-simulation.pc @ONLY)
  install(FILES "${CMAKE_CURRENT_BINARY_DIR}/latchkey-simulation.pc" DESTINATION "${CMAKE_INSTALL_LIBDIR}/pkgconfig"
    COMPONENT development)
endif()
if(TARGET latchkey_testcluster)
  configure_file(testcluster/latchkey-testcluster.pc.in latchkey-testcluster.pc @ONLY)
  install(FILES "${CMAKE_CURRENT_BINARY_DIR}/latchkey-testcluster.pc" DESTINATION "${CMAKE_INSTALL_LIBDIR}/pkgconfig"
    COMPONENT testcluster)
endif()
include(src/package/packages.cmake)
