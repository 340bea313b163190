// SPDX-License-Identifier: Apache-2.0
// How a service tests what it does when it loses its lock: in milliseconds, without a server.

#include <latchkey/mutex.hpp>
#include <latchkey/testing/simulated_ensemble.hpp>

#include <chrono>
#include <functional>
#include <future>
#include <string>
#include <thread>
#include <vector>

#include <doctest/doctest.h>

using namespace std::chrono_literals;
using latchkey::testing::simulated_ensemble;

namespace {

/// The service: it takes a client, so that a test can give it one.
class billing {
 public:
  explicit billing(latchkey::client& client) : nightly_{client, "/locks/billing"} {}

  /// @returns whether every customer was billed; not if the lock was lost.
  bool run(const std::vector<std::string>& customers, const std::function<void(const std::string&)>& bill) {
    const auto held = nightly_.acquire();
    for (const auto& customer : customers) {
      if (!held) return false;
      bill(customer);
    }
    return true;
  }

 private:
  latchkey::mutex nightly_;
};

const std::vector<std::string> customers{"Ann", "Ben", "Carl"};

}  // namespace

TEST_CASE("billing stops when its session expires") {
  simulated_ensemble ensemble;
  latchkey::client client{ensemble};
  billing service{client};
  std::vector<std::string> billed;

  const bool finished = service.run(customers, [&](const std::string& customer) {
    billed.push_back(customer);
    if (customer == "Ben") ensemble.expire_session(client);  // the grant has ended when this returns
  });

  CHECK_FALSE(finished);
  CHECK(billed == std::vector<std::string>{"Ann", "Ben"});
}

TEST_CASE("billing survives a short outage, and stops in a long one") {
  simulated_ensemble ensemble;
  latchkey::client client{ensemble, {.session_timeout = 10s, .close_timeout = 0ms}};
  billing service{client};
  std::vector<std::string> billed;

  const bool finished = service.run(customers, [&](const std::string& customer) {
    billed.push_back(customer);
    ensemble.cut(client);
    ensemble.advance(customer == "Ann" ? 1s : 10s);  // takes no time
    ensemble.heal(client);
  });

  CHECK_FALSE(finished);
  CHECK(billed == std::vector<std::string>{"Ann", "Ben"});
}

TEST_CASE("another instance goes on when an operator has deleted the lock of the first") {
  simulated_ensemble ensemble;
  latchkey::client first{ensemble};
  latchkey::client second{ensemble};
  latchkey::mutex of_first{first, "/locks/billing"};
  billing service{second};

  const auto held = of_first.acquire();
  const auto node = "/locks/billing/" + ensemble.children("/locks/billing").front();
  auto finished = std::async(std::launch::async, [&] { return service.run(customers, [](const std::string&) {}); });
  while (ensemble.children("/locks/billing").size() < 2) std::this_thread::yield();  // until the service waits
  ensemble.advance(1s);  // by then a holder watches its own node
  CHECK(ensemble.delete_node(node));

  CHECK(held.stop_token().stop_requested());
  CHECK(finished.get());
}
