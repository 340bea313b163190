# SPDX-License-Identifier: Apache-2.0
# Documentation for each component, and Debian packages of them: `cpack`, with the preset `debian`.
set(runtime_package "liblatchkey${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR}")
set(development_package liblatchkey-dev)
set(testcluster_package latchkey-testcluster)
set(tools_package latchkey-tools)

# Only a shared library has something to run with.
set(CPACK_COMPONENTS_ALL development)
if(NOT LATCHKEY_IS_STATIC)
  list(APPEND CPACK_COMPONENTS_ALL runtime)
endif()
if(TARGET latchkey_testcluster)
  list(APPEND CPACK_COMPONENTS_ALL testcluster)
endif()
if(TARGET latchkey_command)
  list(APPEND CPACK_COMPONENTS_ALL tools)
endif()
foreach(component IN LISTS CPACK_COMPONENTS_ALL)
  set(doc_dir "${CMAKE_INSTALL_DATADIR}/doc/${${component}_package}")
  install(FILES LICENSE DESTINATION "${doc_dir}" RENAME copyright COMPONENT ${component})
  if(component STREQUAL "development")
    # In the folders that their links name.
    foreach(page IN ITEMS README.md CHANGELOG.md CONTRIBUTING.md LICENSE OPERATIONS.md PROTECTING.md REPORT.md SECURITY.md
        recipes/README.md recipes/HAND_OFF.md recipes/SHARING.md recipes/election/README.md recipes/fair/README.md
        recipes/joint/README.md recipes/keyed/README.md recipes/robust/README.md recipes/semaphore/README.md
        recipes/sequencer/README.md recipes/shared/README.md src/bridge/HAZARDS.md testcluster/README.md
        testcluster/TESTING.md tests/chaos/README.md tests/bench/README.md tests/bench/chart.svg tests/bench/chart_short.svg
        tests/bench/chart_direct.svg tests/interop/kazoo/curator_locks.py)
      cmake_path(GET page PARENT_PATH folder)
      install(FILES ${page} DESTINATION "${doc_dir}/${folder}" COMPONENT development)
    endforeach()
    install(DIRECTORY examples DESTINATION "${doc_dir}" COMPONENT development)
    install(DIRECTORY recipes/pictures DESTINATION "${doc_dir}/recipes" COMPONENT development)
  elseif(component STREQUAL "testcluster")
    install(FILES testcluster/README.md testcluster/TESTING.md DESTINATION "${doc_dir}" COMPONENT testcluster)
  endif()
  string(TOUPPER ${component} COMPONENT)
  set(CPACK_DEBIAN_${COMPONENT}_PACKAGE_NAME ${${component}_package})
endforeach()

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_CONTACT "The maintainers of latchkey <maintainers@latchkey.invalid>")
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS_PRIVATE_DIRS "${PROJECT_BINARY_DIR}") # for the command: the library is in another package
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS ON)
set(CPACK_DEBIAN_DEBUGINFO_PACKAGE ON) # what it strips is in packages -dbgsym, where gdb finds it

set(CPACK_DEBIAN_RUNTIME_PACKAGE_SECTION libs)
set(CPACK_COMPONENT_RUNTIME_DESCRIPTION "The shared library.")

set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_SECTION libdevel)
set(CPACK_COMPONENT_DEVELOPMENT_DESCRIPTION "Headers, and files for CMake and pkg-config.")
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_DEPENDS "${runtime_package} (= ${PROJECT_VERSION})")

set(CPACK_DEBIAN_TESTCLUSTER_PACKAGE_SECTION devel)
set(CPACK_COMPONENT_TESTCLUSTER_DESCRIPTION "A local ensemble with faults, for tests: a library and a program.")
set(CPACK_DEBIAN_TESTCLUSTER_PACKAGE_DEPENDS "libzookeeper-java, default-jre-headless | java8-runtime-headless")
set(CPACK_DEBIAN_TESTCLUSTER_PACKAGE_RECOMMENDS "${development_package}") # its file for find_package

set(CPACK_DEBIAN_TOOLS_PACKAGE_SECTION admin)
set(CPACK_COMPONENT_TOOLS_DESCRIPTION "The command latchkey, which shows the locks of an ensemble, and gets one back.")
set(CPACK_DEBIAN_TOOLS_PACKAGE_DEPENDS "${runtime_package} (= ${PROJECT_VERSION})")
if(TARGET latchkey_command AND CMAKE_INSTALL_PREFIX STREQUAL "/usr") # elsewhere the file would not be read
  install(FILES examples/command/latchkey.conf DESTINATION /etc COMPONENT tools)
  set(CPACK_SET_DESTDIR ON) # a file outside of the prefix
  set(CPACK_DEBIAN_TOOLS_PACKAGE_CONTROL_EXTRA "${CMAKE_CURRENT_SOURCE_DIR}/src/package/conffiles")
endif()
if(PROJECT_IS_TOP_LEVEL AND NOT LATCHKEY_IS_STATIC)
  include(CPack)
endif()
