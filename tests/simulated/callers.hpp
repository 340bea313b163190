// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Calls that wait while the test goes on, from a thread or from a fiber of the test's own thread.

#include <chrono>
#include <future>
#include <string>
#include <utility>
#include <vector>

#ifndef LATCHKEY_WITHOUT_FIBERS
#include <boost/fiber/future/async.hpp>
#endif

#include <latchkey/testing/simulated_ensemble.hpp>

namespace latchkey::testing {

using namespace std::chrono_literals;

struct on_threads {
  template <class Callable>
  static auto start(Callable what) {
    return std::async(std::launch::async, std::move(what));
  }
};

#ifdef LATCHKEY_WITHOUT_FIBERS

/// The kinds of callers, for TEST_CASE_TEMPLATE.
#define LATCHKEY_CALLERS on_threads

#else

#define LATCHKEY_CALLERS on_threads, on_fibers

struct on_fibers {
  template <class Callable>
  static auto start(Callable what) {
    return boost::fibers::async(std::move(what));
  }
};

#endif

/// Waits until so many nodes are in the queue at `path`: whoever put the last one there waits. Other fibers go on.
inline bool queued(const simulated_ensemble& ensemble, const std::string& path, std::size_t count) {
  const auto end = std::chrono::steady_clock::now() + 30s;
  const auto contenders = [&] {
    auto names = ensemble.children(path);
    std::erase(names, "robust-owner");  // the record of a robust mutex
    return names.size();
  };
  while (contenders() != count) {
    if (std::chrono::steady_clock::now() > end) return false;
  }
  return true;
}

}  // namespace latchkey::testing
