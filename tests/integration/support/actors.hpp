// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Everything that waits is tested twice: from plain threads and from fibers. When one actor of a test fails, the
/// others end: what they wait for may never come.

#include <atomic>
#include <exception>
#include <functional>
#include <stdexcept>
#include <stop_token>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

#ifndef LATCHKEY_WITHOUT_FIBERS
#include <boost/fiber/fiber.hpp>
#endif

#include "support/lateness.hpp"

namespace latchkey::testing {

/// Thrown by `signal::wait()`, `pause()` and `eventually()` when another actor of the test has failed.
class called_off : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Ends the waits of all actors, and closes each `client` of the test. The first reason counts. Does not suspend.
void call_off(std::exception_ptr reason);

/// @throws called_off if the test is called off
void throw_if_called_off();

/// @throws the reason why the test is called off, if it is
void rethrow_failure();

/// @returns a token on which stop is requested when the test is called off.
std::stop_token when_called_off();

/// Counts the groups of actors. When the last one has gone the next test begins, and nothing is called off any more.
class group_count {
 public:
  group_count();
  ~group_count();
  group_count(const group_count&) = delete;
  group_count& operator=(const group_count&) = delete;
};

/// Bodies, each on a thread or in a fiber of its own. Groups may be nested.
template <class Thread>
class group_of_actors {
 public:
  group_of_actors() = default;
  /// A test that ends without `join()` has failed: its actors are called off.
  ~group_of_actors() {
    if (!running_.empty()) call_off(std::make_exception_ptr(called_off{"the test ended before its actors"}));
    wait();
  }

  void start(std::function<void()> body) {
    running_.emplace_back([body = std::move(body)] {
      try {
        if constexpr (std::is_same_v<Thread, std::thread>) be_late();
        body();
      } catch (...) {
        call_off(std::current_exception());
      }
    });
  }

  /// Waits for all of them, whether they fail or not.
  void wait() {
    for (auto& each : running_) each.join();
    running_.clear();
  }

  /// Waits for all of them. @throws what the first actor of the test that failed has thrown
  void join() {
    wait();
    rethrow_failure();
  }

 private:
  group_count counted_;
  std::vector<Thread> running_;
};

class on_threads : public group_of_actors<std::thread> {};

#ifdef LATCHKEY_WITHOUT_FIBERS

/// The kinds of actors, for TEST_CASE_TEMPLATE.
#define LATCHKEY_ACTORS on_threads

#else

#define LATCHKEY_ACTORS on_threads, on_fibers

/// All on the calling thread: while one waits, the others run.
class on_fibers : public group_of_actors<boost::fibers::fiber> {};

#endif

/// Something that happens once, which actors of every kind can wait for.
class signal {
 public:
  void set() {
    be_late();
    set_ = true;
  }
  /// @throws called_off when an actor of the test has failed: who would have set it may have ended
  void wait() const {
    while (!set_) pause();
    be_late();
  }

 private:
  std::atomic<bool> set_{false};
};

}  // namespace latchkey::testing
