# SPDX-License-Identifier: Apache-2.0
# One way of using the library from outside, see CMakeLists.txt beside: METHOD is static, shared or subdirectory.
cmake_minimum_required(VERSION 3.23)

function(run)
  list(JOIN ARGN " " line)
  message(STATUS "${line}")
  execute_process(COMMAND ${ARGN} COMMAND_ERROR_IS_FATAL ANY)
endfunction()

# Configures and builds a project in ${WORK}/<name>.
function(build name source)
  run("${CMAKE_COMMAND}" -S "${source}" -B "${WORK}/${name}" -G "${GENERATOR}" "-DCMAKE_CXX_COMPILER=${CXX}"
    "-DCMAKE_CXX_COMPILER_LAUNCHER=${LAUNCHER}" ${ARGN})
  run("${CMAKE_COMMAND}" --build "${WORK}/${name}" --parallel)
endfunction()

# Installs a build, then moves what was installed: a package must not know where it was.
function(stage build)
  run("${CMAKE_COMMAND}" --install "${build}" --prefix "${WORK}/installed")
  file(RENAME "${WORK}/installed" "${WORK}/stage")
  run(bash "${SOURCE}/tests/package/links.sh" "${WORK}/stage/share/doc/liblatchkey-dev")
  file(GLOB_RECURSE texts "${WORK}/stage/*.cmake" "${WORK}/stage/*.pc")
  foreach(text IN LISTS texts)
    file(READ "${text}" content)
    foreach(folder IN ITEMS "${SOURCE}" "${build}" "${WORK}")
      string(FIND "${content}" "${folder}" place)
      if(NOT place EQUAL -1)
        message(FATAL_ERROR "${text} names ${folder}, a folder that no user has")
      endif()
    endforeach()
  endforeach()
endfunction()

function(consume_with_find_package)
  set(options "-DCMAKE_PREFIX_PATH=${WORK}/stage" "-DREADME_PROGRAM=${WORK}/nightly.cpp" "-DCMAKE_CXX_FLAGS=${consumer_flags}" "-DLATCHKEY_VERSION=${VERSION}")
  if(METHOD STREQUAL "shared")
    # A shared library brings along what it needs: its user has no development packages of these.
    foreach(package IN ITEMS Boost fmt ZooKeeper nlohmann_json)
      list(APPEND options "-DCMAKE_DISABLE_FIND_PACKAGE_${package}=ON")
    endforeach()
  endif()
  build(find_package "${SOURCE}/tests/package/consumer" ${options})
  run("${WORK}/find_package/consumer")
  foreach(kind IN ITEMS coroutine coroutine_boost_asio coroutine_asio)
    run("${WORK}/find_package/${kind}")
  endforeach()
  run("${WORK}/find_package/simulation_consumer")
  if(EXISTS "${WORK}/find_package/testcluster_consumer")
    run("${WORK}/find_package/testcluster_consumer")
  endif()
endfunction()

# A user's program has a sanitizer, the library has none: nothing is reported but what is wrong in the program.
function(consume_with_sanitizers)
  if(NOT EXISTS "${WORK}/find_package/with_thread_sanitizer")
    return() # the library has one
  endif()
  set(suppressions "${WORK}/stage/share/latchkey")
  run("${CMAKE_COMMAND}" -E env "LSAN_OPTIONS=suppressions=${suppressions}/latchkey-lsan.supp"
    "${WORK}/find_package/with_address_sanitizer")
  set(thread "${CMAKE_COMMAND}" -E env "TSAN_OPTIONS=suppressions=${suppressions}/latchkey-tsan.supp"
    "${WORK}/find_package/with_thread_sanitizer")
  run(${thread})
  execute_process(COMMAND ${thread} race RESULT_VARIABLE result ERROR_VARIABLE said OUTPUT_QUIET)
  string(REGEX MATCHALL "SUMMARY: ThreadSanitizer: data race [^\n]*sanitized.cpp" reports "${said}")
  list(LENGTH reports count)
  if(result EQUAL 0 OR NOT count EQUAL 1)
    message(FATAL_ERROR "a race of the program's own is not reported as it should be: ${said}")
  endif()
endfunction()

function(consume_with_pkg_config)
  if(NOT PKG_CONFIG)
    message(FATAL_ERROR "pkg-config is missing")
  endif()
  file(GLOB_RECURSE pc_file "${WORK}/stage/*/latchkey.pc")
  get_filename_component(pc_folder "${pc_file}" DIRECTORY)
  set(ENV{PKG_CONFIG_PATH} "${pc_folder}")
  run("${PKG_CONFIG}" --exact-version=${VERSION} latchkey)
  execute_process(COMMAND "${PKG_CONFIG}" --cflags --libs latchkey
    OUTPUT_VARIABLE flags OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
  separate_arguments(flags UNIX_COMMAND "${consumer_flags} -std=c++20 ${SOURCE}/tests/package/consumer/main.cpp ${flags}")
  run("${CXX}" ${flags} -o "${WORK}/pkg_config")
  get_filename_component(library_folder "${pc_folder}" DIRECTORY)
  set(ENV{LD_LIBRARY_PATH} "${library_folder}:$ENV{LD_LIBRARY_PATH}")
  run("${WORK}/pkg_config")
endfunction()

# With an older standard there is one complaint, not one for each declaration, and then the end.
function(refuse_older_standard)
  file(WRITE "${WORK}/older.cpp" "#include <latchkey/mutex.hpp>\n")
  execute_process(COMMAND "${CXX}" -std=c++17 -fsyntax-only "-I${WORK}/stage/include" "${WORK}/older.cpp"
    RESULT_VARIABLE result ERROR_VARIABLE said)
  string(REGEX MATCHALL " error:" errors "${said}")
  list(LENGTH errors count)
  if(result EQUAL 0 OR count GREATER 2 OR NOT said MATCHES "latchkey needs C\\+\\+20")
    message(FATAL_ERROR "C++17 is not refused as it should be: ${said}")
  endif()
endfunction()

# A project around this one may bring an older fmt, against which the library is compiled then.
function(refuse_older_fmt)
  file(WRITE "${WORK}/older/fmt/format.h" "#define FMT_VERSION 70103\n")
  execute_process(COMMAND "${CXX}" -std=c++20 -fsyntax-only "-I${WORK}/older" "-I${SOURCE}/src" "-I${WORK}/stage/include"
    -x c++ "${SOURCE}/src/base/log.hpp" RESULT_VARIABLE result ERROR_VARIABLE said)
  if(result EQUAL 0 OR NOT said MATCHES "latchkey needs fmt 9 or newer")
    message(FATAL_ERROR "fmt 7 is not refused as it should be: ${said}")
  endif()
endfunction()

# Code that uses the library wrongly is refused, with a text like `pattern`.
function(refuse_code code pattern)
  file(WRITE "${WORK}/refused.cpp" "#include <latchkey/fair_mutex.hpp>
#include <latchkey/keyed_mutex.hpp>
#include <latchkey/semaphore.hpp>
#include <latchkey/shared_mutex.hpp>
using namespace std::chrono_literals;
void user(latchkey::fair_mutex& fair, latchkey::keyed_mutex& keys, latchkey::semaphore& permits,
          latchkey::shared_mutex& shared, latchkey::ticket& place, latchkey::client& client) { ${code}; }
")
  execute_process(COMMAND "${CXX}" -std=c++20 -fsyntax-only -Werror=unused-result "-I${WORK}/stage/include"
    "${WORK}/refused.cpp" RESULT_VARIABLE result ERROR_VARIABLE said)
  if(result EQUAL 0 OR NOT said MATCHES "${pattern}")
    message(FATAL_ERROR "'${code}' is not refused as it should be: ${said}")
  endif()
endfunction()

# A user's project of these languages, which finds latchkey with these arguments, is refused with a text like `pattern`.
function(refuse_project languages arguments pattern)
  file(REMOVE_RECURSE "${WORK}/refused")
  file(WRITE "${WORK}/refused/CMakeLists.txt" "cmake_minimum_required(VERSION 3.23)
project(user LANGUAGES ${languages})
find_package(latchkey REQUIRED ${arguments})
")
  execute_process(COMMAND "${CMAKE_COMMAND}" -S "${WORK}/refused" -B "${WORK}/refused/build" -G "${GENERATOR}"
    "-DCMAKE_CXX_COMPILER=${CXX}" "-DCMAKE_PREFIX_PATH=${WORK}/stage" RESULT_VARIABLE result ERROR_VARIABLE said
    OUTPUT_QUIET)
  string(REGEX REPLACE "[ \n]+" " " said "${said}") # CMake wraps it
  if(result EQUAL 0 OR NOT said MATCHES "${pattern}")
    message(FATAL_ERROR "a project in ${languages} that asks for '${arguments}' is not refused as it should be: ${said}")
  endif()
endfunction()

# What a run before built of the library is kept: this one is quick.
file(REMOVE_RECURSE "${WORK}/stage" "${WORK}/installed" "${WORK}/find_package" "${WORK}/pkg_config")

if(REUSED AND NOT DEFINED ENV{LATCHKEY_LONG})
  set(LAUNCHER "${SOURCE}/tests/package/reuse.sh")
  set(ENV{LATCHKEY_OBJECTS} "${REUSED}")
endif()

file(MAKE_DIRECTORY "${WORK}")
run(bash "${SOURCE}/tests/package/readme_program.sh" "${SOURCE}/README.md" "${WORK}/nightly.cpp")

if(METHOD STREQUAL "subdirectory")
  set(shared ON)
  if(BUILD_KIND STREQUAL "shared")
    set(shared OFF)
  endif()
  build(build "${SOURCE}/tests/package/consumer" "-DLATCHKEY_SUBDIRECTORY=${SOURCE}" -DBUILD_SHARED_LIBS=${shared} -DWITH_INSTALL=OFF
    -DCMAKE_UNITY_BUILD=${UNITY} "-DREADME_PROGRAM=${WORK}/nightly.cpp")
  run("${WORK}/build/consumer")
  return()
endif()

if(METHOD STREQUAL BUILD_KIND)
  set(consumer_flags "${BUILD_FLAGS}")
  stage("${BUILD}")
else()
  set(consumer_flags "")
  run("${CMAKE_COMMAND}" -DWITH_INSTALL=ON "${SUBDIRECTORY_BUILD}")
  run("${CMAKE_COMMAND}" --build "${SUBDIRECTORY_BUILD}")
  stage("${SUBDIRECTORY_BUILD}")
endif()
consume_with_find_package()
consume_with_sanitizers()
consume_with_pkg_config()
refuse_older_standard()
refuse_older_fmt()
refuse_code("fair.acquire(5s)" "write try_acquire_for")
refuse_code("fair.lock(5s)" "write try_lock_for")
refuse_code("shared.acquire_shared(5s)" "write try_acquire_shared_for")
refuse_code("shared.lock_shared(5s)" "write try_lock_shared_for")
refuse_code("permits.acquire(5s)" "write try_acquire_for")
foreach(not_whole "latchkey::semaphore(client, \"/a\", 2.5)" "latchkey::semaphore(client, \"/a\", true)" "permits.resize(2.5)"
    "permits.try_acquire_for(5s, 2.5)" "permits.try_acquire_for(5s, true)"
    "permits.try_acquire_until(std::chrono::steady_clock::now(), 2.5)" "permits.acquire(std::stop_token{}, 2.5)")
  refuse_code("${not_whole}" "permits are whole")
endforeach()
refuse_code("keys.lock(\"a\", 5s)" "write try_lock_for")
refuse_code("keys.try_lock(\"a\", 5s)" "write try_lock_for")
refuse_code("fair.try_lock(5s)" "write try_lock_for")
refuse_code("permits.try_acquire(5s)" "write try_acquire_for")
refuse_code("place.acquire(5s)" "write acquire_for")
refuse_code("place.wait(5s)" "write wait_for")
foreach(ignored "fair.acquire()" "shared.try_acquire_shared()" "permits.acquire()" "place.acquire()" "keys.lock(\"a\")"
    "keys.try_lock_any({})" "fair.enqueue()" "fair.try_enqueue_for(5s)")
  refuse_code("${ignored}" "unused-result")
endforeach()
refuse_project(CXX "COMPONENTS mutex" "latchkey has no component mutex; its components are simulation and testcluster")
refuse_project(C "" "latchkey needs the language CXX")
if(EXISTS "${WORK}/stage/bin/latchkey-testcluster")
  run("${WORK}/stage/bin/latchkey-testcluster" --help)
endif()
