// SPDX-License-Identifier: Apache-2.0
#include "support/actors.hpp"

#include <mutex>
#include <string>

namespace latchkey::testing {
namespace {

/// Of the test that runs: there is one at a time.
struct run_of_test {
  std::mutex mutex;
  int groups = 0;
  std::exception_ptr failure;
  std::string in_words;
  std::stop_source off;
  std::thread calling_off;
};

run_of_test& current() {
  static run_of_test instance;
  return instance;
}

std::string words_for(const std::exception_ptr& failure) {
  try {
    std::rethrow_exception(failure);
  } catch (const std::exception& known) {
    return known.what();
  } catch (...) {
    return "an assertion";  // which doctest has reported
  }
}

}  // namespace

void call_off(std::exception_ptr reason) {
  auto in_words = "another actor of the test has failed: " + words_for(reason);
  auto& test = current();
  const std::lock_guard guard{test.mutex};
  if (test.failure) return;
  test.failure = std::move(reason);
  test.in_words = std::move(in_words);
  // Closing a client waits. Here a fiber would have to do so while it handles an exception.
  test.calling_off = std::thread{[off = test.off]() mutable { off.request_stop(); }};
}

void throw_if_called_off() {
  auto& test = current();
  const std::lock_guard guard{test.mutex};
  if (test.failure) throw called_off{test.in_words};
}

void rethrow_failure() {
  auto& test = current();
  std::unique_lock lock{test.mutex};
  const auto failure = test.failure;
  lock.unlock();
  if (failure) std::rethrow_exception(failure);
}

std::stop_token when_called_off() {
  auto& test = current();
  const std::lock_guard guard{test.mutex};
  return test.off.get_token();
}

group_count::group_count() {
  auto& test = current();
  const std::lock_guard guard{test.mutex};
  ++test.groups;
}

group_count::~group_count() {
  auto& test = current();
  std::unique_lock lock{test.mutex};
  if (--test.groups > 0 || !test.failure) return;
  auto calling_off = std::move(test.calling_off);
  test.failure = nullptr;
  test.off = std::stop_source{};
  lock.unlock();
  calling_off.join();
}

}  // namespace latchkey::testing
