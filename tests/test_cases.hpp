// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Test cases over values: as TEST_CASE_TEMPLATE, but the body is compiled once.

#include <iterator>
#include <string>
#include <type_traits>

#include <doctest/doctest.h>

/// Defines a test case "<sentence><<name_of(value)>>" for each of `values`, an expression for a range with an index.
///
///     LATCHKEY_TEST_CASES("a free lock is taken", kind, family()) { ... }
///
/// Each is counted and fails for itself. Of subcases, a failing REQUIRE would skip the rest.
#define LATCHKEY_TEST_CASES(sentence, value, values) \
  LATCHKEY_TEST_CASES_AS(DOCTEST_ANONYMOUS(latchkey_cases_), sentence, value, values)

#define LATCHKEY_TEST_CASES_AS(function, sentence, value, values)                                             \
  static void function(const std::decay_t<decltype(*std::begin(values))>& value);                             \
  [[maybe_unused]] static const int DOCTEST_CAT(function, _count) = [] {                                      \
    const auto run = [] { function(values[doctest::getContextOptions()->currentTest->m_template_id]); };      \
    int count = 0;                                                                                            \
    for (const auto& each : values) {                                                                         \
      const std::string name = name_of(each);                                                                 \
      doctest::detail::regTest(doctest::detail::TestCase(run, __FILE__, __LINE__,                             \
                                                         doctest_detail_test_suite_ns::getCurrentTestSuite(), \
                                                         name.c_str(), count++) *                             \
                               sentence);                                                                     \
    }                                                                                                         \
    return count;                                                                                             \
  }();                                                                                                        \
  static void function(const std::decay_t<decltype(*std::begin(values))>& value)
