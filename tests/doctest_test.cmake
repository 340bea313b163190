# SPDX-License-Identifier: Apache-2.0
#[=[
latchkey_doctest(NAME <target> LABELS <label>... [SUITES <suite>...] [TIMEOUT <seconds>])

Registers the doctest program <target> with CTest: an entry per test suite of SUITES, or one for all of it.
- An entry whose filter matches no test case fails, although doctest then exits with 0.
- With SUITES, one more entry fails when the program has a test case outside of them: no test stays behind unnoticed.
- Labels: `unit` (no server), `integration` and `interop` (an ensemble each: one at a time), `tsan` (uses no fiber: runs under TSan too), ...
- TIMEOUT is for one entry, and holds under sanitizers too. Default: 120, for those that start servers 300.
]=]

# doctest itself, which takes long to compile: once for all programs.
add_library(doctest_main OBJECT
  "${CMAKE_CURRENT_LIST_DIR}/doctest_main.cpp"
  "${CMAKE_CURRENT_LIST_DIR}/progress.cpp")
target_compile_features(doctest_main PRIVATE cxx_std_20)
target_link_libraries(doctest_main PUBLIC doctest::doctest)

function(latchkey_doctest)
  cmake_parse_arguments(arg "" "NAME;TIMEOUT" "LABELS;SUITES" ${ARGN})
  if(arg_UNPARSED_ARGUMENTS OR NOT arg_NAME OR NOT arg_LABELS)
    message(FATAL_ERROR "latchkey_doctest: NAME and LABELS are needed; not understood: '${arg_UNPARSED_ARGUMENTS}'")
  endif()
  foreach(suite IN LISTS arg_SUITES)
    if(suite MATCHES "[],*?\\[]")
      message(FATAL_ERROR "latchkey_doctest: '${suite}' would be a pattern or a list for doctest: no , * ? [ ] in a suite's name")
    endif()
  endforeach()

  set(timeout 120)
  set(of_servers)
  if("integration" IN_LIST arg_LABELS OR "interop" IN_LIST arg_LABELS)
    # They mostly wait: what needs a processor runs meanwhile, so they begin first.
    set(of_servers RESOURCE_LOCK ensemble COST 1000)
    set(timeout 300)
  endif()
  if(arg_TIMEOUT)
    set(timeout ${arg_TIMEOUT})
  endif()

  target_link_libraries(${arg_NAME} PRIVATE doctest_main)
  target_compile_options(${arg_NAME} PRIVATE ${LATCHKEY_TEST_PROGRAM_OPTIONS})

  set(entries)
  if(arg_SUITES)
    foreach(suite IN LISTS arg_SUITES)
      list(APPEND entries "${arg_NAME}: ${suite}")
      add_test(NAME "${arg_NAME}: ${suite}" COMMAND ${arg_NAME} --no-colors=true "--test-suite=${suite}")
    endforeach()
    list(JOIN arg_SUITES "," all_suites)
    set(rest "${arg_NAME}: no test outside of the listed suites")
    add_test(NAME "${rest}" COMMAND ${arg_NAME} --no-colors=true --list-test-cases "--test-suite-exclude=${all_suites}")
    set_tests_properties("${rest}" PROPERTIES
      LABELS "${arg_LABELS}" TIMEOUT 60 PASS_REGULAR_EXPRESSION "passing the current filters: 0\n")
  else()
    list(APPEND entries "${arg_NAME}")
    add_test(NAME "${arg_NAME}" COMMAND ${arg_NAME} --no-colors=true)
  endif()
  set_tests_properties(${entries} PROPERTIES
    LABELS "${arg_LABELS}"
    TIMEOUT ${timeout}
    ${of_servers}
    # Beside the exit code, not instead of it, as PASS_REGULAR_EXPRESSION would be.
    FAIL_REGULAR_EXPRESSION "\\[doctest\\] test cases: +0 \\|")

  if("tsan" IN_LIST arg_LABELS)
    add_dependencies(tsan_tests ${arg_NAME})
  endif()
endfunction()
