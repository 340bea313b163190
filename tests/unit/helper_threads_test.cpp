// SPDX-License-Identifier: Apache-2.0
#include "bridge/helper_threads.hpp"

#include <pthread.h>

#include <doctest/doctest.h>

#include <atomic>
#include <csignal>
#include <functional>
#include <future>
#include <memory>

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
  auto second = std::make_shared<std::promise<void>>();
  auto was_run = second->get_future();
  {
    helper_threads helpers;
    helpers.run_in_halves(
        [blocked = go_on->get_future().share(), second = std::move(second)]() mutable -> std::function<void()> {
          blocked.wait();
          return [second = std::move(second)] { second->set_value(); };
        });
  }
  go_on->set_value();
  CHECK_THROWS_AS(was_run.get(), std::future_error);  // the second half was destroyed, not run
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
