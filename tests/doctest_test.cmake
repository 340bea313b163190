# SPDX-License-Identifier: Apache-2.0
#[=[
latchkey_doctest(NAME <target> LABELS <label>... [SUITES <suite>... [TIMED <suite>...]] [SERVERS] [COMPUTES] [TIMEOUT <seconds>])

Registers the doctest program <target> with CTest: an entry per test suite of SUITES, or one for all of it.
- An entry whose filter matches no test case fails, although doctest then exits with 0.
- With SUITES, one more entry fails when the program has a test case outside of them: no test stays behind unnoticed.
- Labels: `unit` (no server), `integration` and `interop` (an ensemble each, as with SERVERS), `tsan` (uses no fiber: runs under TSan too), `short` (of the short form), ...
- Entries with servers mostly wait, so some run at a time, in lanes. In the timed lane, one at a time, are the suites of
  TIMED: their cases measure a time, each for a reason that stands beside its name. All others assert states, whatever
  the speed of the machine, and share the calm lanes.
- Those of COMPUTES, on virtual time, yield to all others; so do models and packages.
- TIMEOUT is for one entry, and holds under sanitizers too. Default: 120, for those that start servers 300, for those of
  COMPUTES, which all others overtake, 1800.
]=]

# doctest itself, which takes long to compile: once for all programs.
add_library(doctest_main OBJECT
  "${CMAKE_CURRENT_LIST_DIR}/doctest_main.cpp"
  "${CMAKE_CURRENT_LIST_DIR}/progress.cpp")
target_compile_features(doctest_main PRIVATE cxx_std_20)
target_link_libraries(doctest_main PUBLIC doctest::doctest)

# What computes, and need not be in time.
find_program(NICE_PROGRAM nice)
set(latchkey_in_background)
if(NICE_PROGRAM)
  set(latchkey_in_background "${NICE_PROGRAM}" -n 19)
endif()

# Entries of one lane run one at a time, and begin before what only computes.
function(latchkey_lane entry lane)
  set_tests_properties("${entry}" PROPERTIES RESOURCE_LOCK "${lane}" COST 1000)
endfunction()

# The three calm lanes take turns.
function(latchkey_calm_lane entry)
  get_property(before GLOBAL PROPERTY latchkey_calm_entries)
  math(EXPR lane "0${before} % 3 + 1")
  math(EXPR before "0${before} + 1")
  set_property(GLOBAL PROPERTY latchkey_calm_entries ${before})
  latchkey_lane("${entry}" "calm ${lane}")
endfunction()

function(latchkey_doctest)
  cmake_parse_arguments(arg "SERVERS;COMPUTES" "NAME;TIMEOUT" "LABELS;SUITES;TIMED" ${ARGN})
  if(arg_UNPARSED_ARGUMENTS OR NOT arg_NAME OR NOT arg_LABELS)
    message(FATAL_ERROR "latchkey_doctest: NAME and LABELS are needed; not understood: '${arg_UNPARSED_ARGUMENTS}'")
  endif()
  foreach(suite IN LISTS arg_SUITES)
    if(suite MATCHES "[],*?\\[]")
      message(FATAL_ERROR "latchkey_doctest: '${suite}' would be a pattern or a list for doctest: no , * ? [ ] in a suite's name")
    endif()
  endforeach()

  foreach(suite IN LISTS arg_TIMED)
    if(NOT suite IN_LIST arg_SUITES)
      message(FATAL_ERROR "latchkey_doctest: TIMED names '${suite}', which is not in SUITES")
    endif()
  endforeach()

  set(timeout 120)
  if(arg_SERVERS OR "integration" IN_LIST arg_LABELS OR "interop" IN_LIST arg_LABELS)
    set(arg_SERVERS TRUE)
    set(timeout 300)
  endif()
  set(run)
  if(arg_COMPUTES) # when all others are done
    set(run ${latchkey_in_background})
    set(timeout 1800)
  endif()
  if(arg_TIMEOUT)
    set(timeout ${arg_TIMEOUT})
  endif()

  target_link_libraries(${arg_NAME} PRIVATE doctest_main)

  set(entries)
  if(arg_SUITES)
    foreach(suite IN LISTS arg_SUITES)
      list(APPEND entries "${arg_NAME}: ${suite}")
      add_test(NAME "${arg_NAME}: ${suite}" COMMAND ${run} $<TARGET_FILE:${arg_NAME}> --no-colors=true "--test-suite=${suite}")
    endforeach()
    list(JOIN arg_SUITES "," all_suites)
    set(rest "${arg_NAME}: no test outside of the listed suites")
    add_test(NAME "${rest}" COMMAND ${arg_NAME} --no-colors=true --list-test-cases "--test-suite-exclude=${all_suites}")
    set_tests_properties("${rest}" PROPERTIES
      LABELS "${arg_LABELS}" TIMEOUT 60 PASS_REGULAR_EXPRESSION "passing the current filters: 0\n")
  else()
    list(APPEND entries "${arg_NAME}")
    add_test(NAME "${arg_NAME}" COMMAND ${run} $<TARGET_FILE:${arg_NAME}> --no-colors=true)
  endif()
  set_tests_properties(${entries} PROPERTIES
    LABELS "${arg_LABELS}"
    TIMEOUT ${timeout}
    # Beside the exit code, not instead of it, as PASS_REGULAR_EXPRESSION would be.
    FAIL_REGULAR_EXPRESSION "\\[doctest\\] test cases: +0 \\|")

  if(arg_SERVERS)
    list(TRANSFORM arg_TIMED PREPEND "${arg_NAME}: ")
    foreach(entry IN LISTS entries)
      if(entry IN_LIST arg_TIMED)
        latchkey_lane("${entry}" timed)
      else()
        latchkey_calm_lane("${entry}")
      endif()
    endforeach()
  endif()

  foreach(label IN ITEMS tsan short)
    if(label IN_LIST arg_LABELS)
      add_dependencies(${label}_tests ${arg_NAME})
    endif()
  endforeach()
endfunction()
