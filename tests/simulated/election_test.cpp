// SPDX-License-Identifier: Apache-2.0
#include <latchkey/testing/simulated_ensemble.hpp>

#include <latchkey/election.hpp>
#include <latchkey/leader_view.hpp>

#include <atomic>
#include <future>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include <doctest/doctest.h>

#include "callers.hpp"
#include "log_lines.hpp"

namespace latchkey::testing {
namespace {

constexpr auto path = "/elections/billing";

/// Waits for a stop, as work does. Other fibers go on.
void until_stopped(const grant& term, const std::stop_token& stop) {
  while (!stop.stop_requested()) term.wait_for_end(1ms);
}

/// Runs until stop is requested. Time goes on when the candidate rests, or is about to stand.
template <class Work>
void run_on(simulated_ensemble& ensemble, election& candidate, const std::stop_source& shutdown, const Work& work) {
  std::atomic<bool> over{false};
  auto done = on_threads::start([&] {
    candidate.run(shutdown.get_token(), work);
    over = true;
  });
  while (!over) {
    if (ensemble.children(path).empty()) ensemble.advance(1ms);
  }
  done.get();
}

}  // namespace

TEST_CASE_TEMPLATE("run() works while it is elected, and resigns when it is told to stop", callers, LATCHKEY_CALLERS) {
  simulated_ensemble ensemble;
  client owner{ensemble, {.label = "ann"}};
  election candidate{owner, path};
  CHECK(candidate.id() == "ann");
  std::stop_source shutdown;
  std::atomic<bool> leads{false};
  bool placed_at_the_end = false;
  auto done = callers::start([&] {
    candidate.run(shutdown.get_token(), [&](const grant& term, const std::stop_token& stop) {
      CHECK(term);
      CHECK(candidate.held() == term);
      leads = true;
      until_stopped(term, stop);
      placed_at_the_end = term && ensemble.children(path).size() == 1;
    });
  });
  auto observer = callers::start([&] {
    REQUIRE(queued(ensemble, path, 1));
    while (!leads) (void)ensemble.children(path);  // other fibers go on
    shutdown.request_stop();
  });
  done.get();
  observer.get();
  CHECK(placed_at_the_end);
  CHECK(queued(ensemble, path, 0));
  CHECK_FALSE(candidate.held());
}

TEST_CASE("run() that waits for its election ends when it is told to stop") {
  simulated_ensemble ensemble;
  client one{ensemble};
  client two{ensemble};
  election leading{one, path};
  election waiting{two, path};
  const auto term = leading.acquire();
  std::stop_source shutdown;
  std::atomic<bool> worked{false};
  auto done = on_threads::start([&] { waiting.run(shutdown.get_token(), [&](auto&&...) { worked = true; }); });
  REQUIRE(queued(ensemble, path, 2));
  shutdown.request_stop();
  done.get();
  CHECK_FALSE(worked);
  CHECK(queued(ensemble, path, 1));
  CHECK(term);
}

TEST_CASE("run() whose term is lost asks its work to stop, and stands again when that has returned") {
  simulated_ensemble ensemble;
  client one{ensemble};
  client two{ensemble};
  election first{one, path};
  election second{two, path};
  std::stop_source shutdown;
  std::vector<grant> terms;
  std::promise<void> elected;
  std::promise<void> may_return;
  auto done = on_threads::start([&] {
    first.run(shutdown.get_token(), [&](const grant& term, const std::stop_token& stop) {
      terms.push_back(term);
      if (terms.size() == 2) return void(shutdown.request_stop());
      elected.set_value();
      until_stopped(term, stop);
      may_return.get_future().wait();
    });
  });
  elected.get_future().wait();
  ensemble.advance(1s);  // by then a leader watches its own node
  CHECK(ensemble.delete_node(std::string{path} + "/" + ensemble.children(path).at(0)));
  auto term_of_second = second.acquire();  // while the work of the first has not returned
  CHECK(ensemble.children(path).size() == 1);
  may_return.set_value();
  REQUIRE(queued(ensemble, path, 2));
  const auto fence = term_of_second.fence();
  term_of_second.release();
  done.get();
  REQUIRE(terms.size() == 2);
  CHECK(terms[0].loss() == loss_reason::node_deleted);
  CHECK(terms[0].fence() < fence);
  CHECK(fence < terms[1].fence());
}

TEST_CASE("run() with a warning asks its work to stop while the term still lasts") {
  simulated_ensemble ensemble;
  client owner{ensemble, {.session_timeout = 40s}};
  election candidate{owner, path};
  std::stop_source shutdown;
  std::promise<grant> elected;
  std::promise<bool> warned;
  auto done = on_threads::start([&] {
    const auto work = [&](const grant& term, const std::stop_token& stop) {
      elected.set_value(term);
      until_stopped(term, stop);
      warned.set_value(static_cast<bool>(term));
      shutdown.request_stop();
    };
    candidate.run(shutdown.get_token(), work, 8s);
  });
  const auto term = elected.get_future().get();
  ensemble.cut(owner);
  ensemble.advance(4s);
  const auto end = term.valid_until();
  auto led_when_warned = warned.get_future();
  ensemble.advance(end - 8s - 3s - ensemble.now());
  // Three seconds are left: time goes on by itself, too.
  CHECK(led_when_warned.wait_for(0s) == std::future_status::timeout);
  ensemble.advance(3s);
  CHECK(led_when_warned.get());
  done.get();
}

TEST_CASE_TEMPLATE("run() whose work throws resigns, rests, and throws that", callers, LATCHKEY_CALLERS) {
  simulated_ensemble ensemble;
  client one{ensemble};
  client two{ensemble};
  election first{one, path, {.rest_after_failure = 1h}};
  election second{two, path};
  boottime_clock::time_point failed;
  std::atomic<bool> worked{false};
  std::atomic<bool> rested{false};
  auto done = callers::start([&] {
    try {
      first.run({}, [&](auto&&...) {
        failed = ensemble.now();
        worked = true;
        throw std::runtime_error{"the work has failed"};
      });
    } catch (...) {
      rested = true;
      throw;
    }
  });
  while (!worked) (void)ensemble.children(path);  // other fibers go on
  const auto term = second.acquire();
  CHECK(term);
  REQUIRE(queued(ensemble, path, 1));
  while (!rested) {
    CHECK(ensemble.children(path).size() == 1);
    ensemble.advance(1min);
  }
  CHECK(ensemble.now() - failed >= 1h);
  CHECK_THROWS_WITH_AS(done.get(), "the work has failed", std::runtime_error);
  CHECK(term);
}

TEST_CASE("a rest ends with a stop, and with the client") {
  for (const bool by_client : {false, true}) {
    simulated_ensemble ensemble;
    client owner{ensemble};
    election candidate{owner, path, {.rest_after_failure = std::chrono::hours::max()}};
    std::stop_source shutdown;
    std::atomic<bool> failed{false};
    auto done = on_threads::start([&] {
      candidate.run(shutdown.get_token(), [&](auto&&...) {
        failed = true;
        throw std::runtime_error{"the work has failed"};
      });
    });
    while (!failed) std::this_thread::yield();
    REQUIRE(queued(ensemble, path, 0));
    if (by_client) {
      owner.close();
    } else {
      shutdown.request_stop();
    }
    CHECK_THROWS_WITH_AS(done.get(), "the work has failed", std::runtime_error);
  }
}

TEST_CASE("work that returns at once is called again after pauses that grow, and the log says so once") {
  const log_lines lines{log_level::warning};
  simulated_ensemble ensemble;
  client owner{ensemble};
  election candidate{owner, path};
  std::stop_source shutdown;
  std::vector<boottime_clock::time_point> terms;
  std::size_t warned_after = 0;
  run_on(ensemble, candidate, shutdown, [&](auto&&...) {
    terms.push_back(ensemble.now());
    if (warned_after == 0 && !lines.all().empty()) warned_after = terms.size() - 1;
    const bool enough = warned_after != 0 && terms.size() == warned_after + 3;
    if (enough || terms.size() == 1000) shutdown.request_stop();
  });
  REQUIRE(warned_after >= 10);
  CHECK(terms[warned_after - 1] - terms[warned_after - 2] >= 1280ms);
  for (auto i = warned_after; i < terms.size(); ++i) CHECK(terms[i] - terms[i - 1] >= 1280ms);
  CHECK(lines.with("the work of an election has returned at once 10 times").size() == 1);
  CHECK(lines.all().size() == 1);
}

TEST_CASE("a term that lasts ends the pauses after those that did not") {
  const log_lines lines{log_level::warning};
  simulated_ensemble ensemble;
  client owner{ensemble};
  election candidate{owner, path};
  std::stop_source shutdown;
  int terms = 0;
  run_on(ensemble, candidate, shutdown, [&](auto&&...) {
    if (++terms % 8 == 0) ensemble.advance(100ms);
    if (terms == 30) shutdown.request_stop();
  });
  CHECK(lines.all().empty());
}

TEST_CASE("options that make no sense are refused") {
  simulated_ensemble ensemble;
  client owner{ensemble};
  CHECK_THROWS_AS((election{owner, path, {.rest_after_failure = -1s}}), error);
  CHECK_THROWS_AS((election{owner, path, {.id = "__REVOKE__"}}), error);
  CHECK_THROWS_AS((election{owner, path, {.id = std::string(4097, 'x')}}), error);
  CHECK_THROWS_AS((election{owner, "/"}), error);
  election candidate{owner, path};
  const auto idle = [](auto&&...) {};
  CHECK_THROWS_AS(candidate.run({}, idle, -1s), error);
  CHECK_THROWS_AS(candidate.run({}, idle, 1h), error);
  CHECK(queued(ensemble, path, 0));
  CHECK_THROWS_AS((leader_view{owner, "/"}), error);
  const election longest{owner, path, {.id = std::string(4096, 'x')}};
  const election unnamed{owner, path};
  CHECK(unnamed.id() == "simulated_tests");  // the program
  owner.close();
  CHECK_THROWS_AS((leader_view{owner, path}), error);
}

TEST_CASE("a view tells its callback, which may ask it, and which may end it") {
  simulated_ensemble ensemble;
  client one{ensemble};
  client two{ensemble};
  election candidate{one, path, {.id = "ann"}};
  const auto term = candidate.acquire();
  std::promise<leader_sighting> asked;
  std::promise<leader_sighting> told;
  std::unique_ptr<leader_view> view;
  std::mutex made;
  {
    const std::lock_guard until_made{made};
    view = std::make_unique<leader_view>(two, path, [&](const leader_sighting& what) {
      const std::lock_guard wait{made};
      asked.set_value(view->now());
      view.reset();
      told.set_value(what);
    });
  }
  const leader_sighting ann{.known = true, .who = leader{"ann", term.fence()}};
  CHECK(told.get_future().get() == ann);
  CHECK(asked.get_future().get() == ann);
}
}  // namespace latchkey::testing
