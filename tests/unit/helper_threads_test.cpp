// SPDX-License-Identifier: Apache-2.0
#include "bridge/helper_threads.hpp"

#include <pthread.h>

#include <doctest/doctest.h>

#include <atomic>
#include <csignal>
#include <functional>
#include <future>
#include <memory>
#include <thread>

using namespace latchkey::detail;

TEST_SUITE_BEGIN("helper threads");

TEST_CASE("the destructor waits for every job, and for those that jobs start") {
  std::atomic<int> done{0};
  {
    helper_threads helpers;
    for (int i = 0; i < 10; ++i) {
      helpers.run([&] {
        helpers.run([&] { ++done; });
        ++done;
      });
    }
  }
  CHECK(done == 20);
}

TEST_CASE("a job may destroy the helpers that run it") {
  const auto destroyed = std::make_shared<std::promise<void>>();
  auto* helpers = new helper_threads;
  helpers->run([destroyed, helpers] {
    delete helpers;
    destroyed->set_value();
  });
  destroyed->get_future().get();
}

TEST_CASE("the second half follows on the first") {
  const auto second = std::make_shared<std::promise<int>>();
  helper_threads helpers;
  helpers.run_in_halves(
      [second]() -> std::function<void()> { return [second, first = 42] { second->set_value(first); }; });
  CHECK(second->get_future().get() == 42);
}

TEST_CASE("the destructor does not wait for a first half, and its second half is left out") {
  // Shared: the first half outlives the helpers.
  const auto go_on = std::make_shared<std::promise<void>>();
  const auto was_run = std::make_shared<std::atomic<bool>>(false);
  {
    helper_threads helpers;
    helpers.run_in_halves([blocked = go_on->get_future().share(), was_run]() -> std::function<void()> {
      blocked.wait();
      return [was_run] { *was_run = true; };
    });
  }
  go_on->set_value();
  while (was_run.use_count() > 1) std::this_thread::yield();  // until the thread has thrown away both halves
  CHECK_FALSE(*was_run);
}

TEST_CASE("helpers take no signals of the service") {
  const auto blocked = std::make_shared<std::promise<bool>>();
  helper_threads helpers;
  helpers.run([blocked] {
    sigset_t mask;
    ::pthread_sigmask(SIG_BLOCK, nullptr, &mask);
    blocked->set_value(::sigismember(&mask, SIGTERM) == 1);
  });
  CHECK(blocked->get_future().get());
}

TEST_SUITE_END();
