// SPDX-License-Identifier: Apache-2.0
// Part of every test program, as doctest_main.cpp: names each test case before it runs and says how long it took,
// so that the output of a program that hung or crashed ends with the name of the guilty one.

#include <cstdio>

#include <doctest/doctest.h>

namespace {

// Otherwise what was printed would be lost with a program that is killed.
[[maybe_unused]] const int line_buffered = std::setvbuf(stdout, nullptr, _IOLBF, 1 << 16);

class progress : public doctest::IReporter {
 public:
  explicit progress(const doctest::ContextOptions&) {}

  void test_case_start(const doctest::TestCaseData& test) override { std::printf("running: %s\n", test.m_name); }
  void test_case_end(const doctest::CurrentTestCaseStats& result) override { std::printf("%9.3f s\n", result.seconds); }

  void report_query(const doctest::QueryData&) override {}
  void test_run_start() override {}
  void test_run_end(const doctest::TestRunStats&) override {}
  void test_case_reenter(const doctest::TestCaseData&) override {}
  void test_case_exception(const doctest::TestCaseException&) override {}
  void subcase_start(const doctest::SubcaseSignature&) override {}
  void subcase_end() override {}
  void log_assert(const doctest::AssertData&) override {}
  void log_message(const doctest::MessageData&) override {}
  void test_case_skipped(const doctest::TestCaseData&) override {}
};

REGISTER_LISTENER("progress", 1, progress);

}  // namespace
