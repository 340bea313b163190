// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Everything that waits is tested twice: from plain threads and from fibers.

#include <cstddef>
#include <exception>
#include <functional>
#include <future>
#include <memory>
#include <thread>
#include <vector>

#ifndef LATCHKEY_WITHOUT_FIBERS
#include <boost/fiber/fiber.hpp>
#include <boost/fiber/future.hpp>
#endif

#include "support/lateness.hpp"

namespace latchkey::testing {

/// Bodies, each on a thread of its own.
class on_threads {
 public:
  ~on_threads() { wait(); }

  void start(std::function<void()> body) {
    std::packaged_task<void()> task{[body = std::move(body)] {
      be_late();
      body();
    }};
    results_.push_back(task.get_future());
    threads_.emplace_back(std::move(task));
  }

  /// Waits for all of them. @throws what the first of them has thrown
  void join() {
    wait();
    for (auto& result : std::exchange(results_, {})) result.get();
  }

 private:
  void wait() {
    for (auto& each : threads_) each.join();
    threads_.clear();
  }

  std::vector<std::thread> threads_;
  std::vector<std::future<void>> results_;
};

#ifdef LATCHKEY_WITHOUT_FIBERS

/// The kinds of actors, for TEST_CASE_TEMPLATE.
#define LATCHKEY_ACTORS on_threads

using promise_to_actors = std::promise<void>;

#else

#define LATCHKEY_ACTORS on_threads, on_fibers

/// Bodies, each in a fiber of its own, all on the calling thread: while one waits, the others run.
class on_fibers {
 public:
  ~on_fibers() { wait(); }

  void start(std::function<void()> body) {
    boost::fibers::packaged_task<void()> task{std::move(body)};
    results_.push_back(task.get_future());
    fibers_.emplace_back(std::move(task));
  }

  void join() {
    wait();
    for (auto& result : std::exchange(results_, {})) result.get();
  }

 private:
  void wait() {
    for (auto& each : fibers_) each.join();
    fibers_.clear();
  }

  std::vector<boost::fibers::fiber> fibers_;
  std::vector<boost::fibers::future<void>> results_;
};

using promise_to_actors = boost::fibers::promise<void>;

#endif

/// Something that happens once, which actors of every kind can wait for.
class signal {
 public:
  void set() {
    be_late();
    promise_.set_value();
  }
  void wait() {
    future_.wait();
    be_late();
  }

 private:
  promise_to_actors promise_;
  decltype(promise_.get_future().share()) future_ = promise_.get_future().share();
};

}  // namespace latchkey::testing
