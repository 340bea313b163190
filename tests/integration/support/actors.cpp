// SPDX-License-Identifier: Apache-2.0
#include "support/actors.hpp"

#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>

#ifndef LATCHKEY_WITHOUT_FIBERS
#include <boost/fiber/fiber.hpp>
#endif

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

/// Starts it. @returns what waits for its end.
template <class Thread>
std::function<void()> join_of(std::function<void()> body) {
  return [running = std::make_shared<Thread>(std::move(body))] { running->join(); };
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

std::vector<callers> all_callers() {
#ifdef LATCHKEY_WITHOUT_FIBERS
  return {callers::threads};
#else
  return {callers::threads, callers::fibers};
#endif
}

std::string name_of(callers who) { return who == callers::threads ? "on threads" : "on fibers"; }

group_of_actors::group_of_actors(callers who) : who_{who} {}

group_of_actors::~group_of_actors() {
  if (!joins_.empty()) call_off(std::make_exception_ptr(called_off{"the test ended before its actors"}));
  wait();
}

void group_of_actors::start(std::function<void()> body) {
  const auto act = [body = std::move(body), who = who_] {
    try {
      if (who == callers::threads) be_late();
      body();
    } catch (...) {
      call_off(std::current_exception());
    }
  };
#ifndef LATCHKEY_WITHOUT_FIBERS
  if (who_ == callers::fibers) return joins_.push_back(join_of<boost::fibers::fiber>(act));
#endif
  joins_.push_back(join_of<std::thread>(act));
}

void group_of_actors::wait() {
  for (const auto& join : joins_) join();
  joins_.clear();
}

void group_of_actors::join() {
  wait();
  rethrow_failure();
}

}  // namespace latchkey::testing
