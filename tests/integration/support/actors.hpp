// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Everything that waits is tested twice: from plain threads and from fibers. When one actor of a test fails, the
/// others end: what they wait for may never come.

#include <atomic>
#include <exception>
#include <functional>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <vector>

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

/// Who calls: plain threads, or fibers of the calling thread, of which the others run while one waits.
enum class callers { threads, fibers };

/// @returns both; without fibers, threads alone.
std::vector<callers> all_callers();

/// @returns "on threads" or "on fibers".
std::string name_of(callers who);

/// Bodies, each on a thread or in a fiber of its own. Groups may be nested.
class group_of_actors {
 public:
  explicit group_of_actors(callers who);
  /// A test that ends without `join()` has failed: its actors are called off.
  ~group_of_actors();

  void start(std::function<void()> body);

  /// Waits for all of them, whether they fail or not.
  void wait();

  /// Waits for all of them. @throws what the first actor of the test that failed has thrown
  void join();

 private:
  group_count counted_;
  const callers who_;
  std::vector<std::function<void()>> joins_;  ///< of those who run
};

struct on_threads : group_of_actors {
  on_threads() : group_of_actors{callers::threads} {}
};

#ifndef LATCHKEY_WITHOUT_FIBERS
struct on_fibers : group_of_actors {
  on_fibers() : group_of_actors{callers::fibers} {}
};
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
