// SPDX-License-Identifier: Apache-2.0
// The unit tests of the service: without a server, a socket or a sleep.

#include <latchkey/testing/simulated_ensemble.hpp>

#include <unistd.h>

#include <fstream>
#include <functional>
#include <future>
#include <thread>

#include <doctest/doctest.h>

#include "service.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/use_future.hpp>

using namespace std::chrono_literals;
using latchkey::testing::simulated_ensemble;
using nlohmann::json;

namespace {

/// The file of the settings.
struct settings_file {
  std::filesystem::path path = std::filesystem::temp_directory_path() / ("bank_test." + std::to_string(::getpid()));
  explicit settings_file(const std::string& text = R"({"max_deposit": 100})") { write(text); }
  ~settings_file() { std::filesystem::remove(path); }
  void write(const std::string& text) const { std::ofstream{path} << text; }
};

/// One process of the service; several share the ledger.
struct instance {
  bank::reachability ensemble;
  latchkey::client client;
  bank::service service;

  instance(simulated_ensemble& servers, bank::ledger& ledger, const settings_file& settings)
      : client{servers, {.close_timeout = 0ms, .observer = std::ref(ensemble)}},
        service{client, ensemble, ledger, settings.path} {
    while (!ensemble.up) std::this_thread::yield();  // until it has been told of the connection
  }

  bank::answer post(const std::string& target) { return handle("POST", target); }
  bank::answer get(const std::string& target) { return handle("GET", target); }
  bank::answer handle(const std::string& method, const std::string& target) {
    boost::asio::io_context thread;
    auto made = co_spawn(thread, service.handle(method, target), boost::asio::use_future);
    thread.run();
    return made.get();
  }
};

json body(const bank::answer& what) { return json::parse(what.body); }

void wait_for_entries(const simulated_ensemble& servers, const std::string& path, std::size_t count) {
  while (servers.children(path).size() < count) std::this_thread::yield();
}

/// Posts, and lets the time pass once the request waits. @returns the answer.
bank::answer post_in_vain(simulated_ensemble& servers, instance& one, const std::string& target) {
  auto answer = std::async(std::launch::async, [&] { return one.post(target); });
  while (body(one.get("/health"))["waiting_calls"] == 0) std::this_thread::yield();
  servers.advance(10s);
  return answer.get();
}

constexpr std::chrono::sys_days tonight{std::chrono::days{20000}};

}  // namespace

TEST_CASE("two instances add up what is deposited") {
  simulated_ensemble servers;
  const settings_file settings;
  bank::ledger ledger;
  instance first{servers, ledger, settings};
  instance second{servers, ledger, settings};

  CHECK(first.post("/accounts/17/deposit?amount=5").status == 200);
  CHECK(body(second.post("/accounts/17/deposit?amount=7")) == json{{"balance", 12}});
  CHECK(body(first.get("/accounts/17")) == json{{"balance", 12}});
  CHECK(first.get("/metrics").body.find("latchkey_granted_total{group=\"accounts\"} 1") != std::string::npos);
}

TEST_CASE("what is no account and no amount is refused") {
  simulated_ensemble servers;
  const settings_file settings;
  bank::ledger ledger;
  instance one{servers, ledger, settings};

  for (const auto* target :
       {"/accounts/a%2fb/deposit?amount=5", "/accounts/../deposit?amount=5", "/accounts/a/b/deposit",
        "/accounts/17/deposit?amount=-5", "/accounts//deposit?amount=5"}) {
    CHECK_MESSAGE(one.post(target).status == 404, target);
  }
  CHECK(one.post("/accounts/17/deposit?amount=0").status == 422);
  CHECK(one.post("/accounts/17/deposit?amount=101").status == 422);
  CHECK(ledger.close_one(tonight) == std::nullopt);
}

TEST_CASE("a deposit to a locked account is answered with 409 and the holder, and the others are not delayed") {
  simulated_ensemble servers;
  const settings_file settings;
  bank::ledger ledger;
  instance one{servers, ledger, settings};
  latchkey::client clerk{servers, {.label = "clerk"}};
  latchkey::mutex account{clerk, "/locks/accounts/17"};
  const auto held = account.acquire();

  auto answer = std::async(std::launch::async, [&] { return one.post("/accounts/17/deposit?amount=5"); });
  wait_for_entries(servers, "/locks/accounts/17", 2);
  CHECK(one.post("/accounts/18/deposit?amount=5").status == 200);
  CHECK(one.get("/health").status == 200);
  CHECK(body(one.get("/health"))["waiting_calls"] == 1);
  servers.advance(2s);

  const auto made = answer.get();
  CHECK(made.status == 409);
  CHECK(body(made)["holders"].at(0)["label"] == "clerk");
  CHECK(body(made)["holders"].at(0)["pid"] == ::getpid());
  CHECK(ledger.balance("17") == 0);
  CHECK(servers.children("/locks/accounts/17").size() == 1);
}

TEST_CASE("an ensemble that does not answer makes a service unhealthy until it answers again") {
  simulated_ensemble servers;
  const settings_file settings;
  bank::ledger ledger;
  instance one{servers, ledger, settings};
  CHECK(one.get("/health").status == 200);

  servers.cut(one.client);
  servers.advance(1min);
  CHECK(one.get("/health").status == 503);
  CHECK(post_in_vain(servers, one, "/accounts/17/deposit?amount=5").status == 503);

  servers.heal(one.client);
  servers.advance(1min);
  CHECK(one.get("/health").status == 200);
  CHECK(one.post("/accounts/17/deposit?amount=5").status == 200);
}

TEST_CASE("the ledger refuses a former holder of the account's lock") {
  bank::ledger ledger;
  CHECK(ledger.write("17", 5, {.czxid = 2, .turn = 0}));
  CHECK_FALSE(ledger.write("17", 9, {.czxid = 1, .turn = 7}));
  CHECK(ledger.balance("17") == 5);
}

TEST_CASE("the nightly job stops when its lock is lost, and another instance does the rest") {
  simulated_ensemble servers;
  const settings_file settings;
  bank::ledger ledger;
  for (const auto* id : {"17", "18", "19"}) REQUIRE(ledger.write(id, 1, {}));
  instance first{servers, ledger, settings};
  instance second{servers, ledger, settings};
  std::string printed;

  CHECK(first.service.close_day(tonight, {}, [&](const std::string& id) {
    printed += id;
    if (id == "18") servers.expire_session(first.client);
  }) == bank::ending::lost);
  CHECK(printed == "1718");
  CHECK(second.service.close_day(tonight, {}, [&](const std::string& id) { printed += id; }) == bank::ending::finished);
  CHECK(printed == "171819");
}

TEST_CASE("the nightly job stops with the service, at work and in the queue") {
  simulated_ensemble servers;
  const settings_file settings;
  bank::ledger ledger;
  for (const auto* id : {"17", "18"}) REQUIRE(ledger.write(id, 1, {}));
  instance first{servers, ledger, settings};
  instance second{servers, ledger, settings};
  std::stop_source of_first;
  std::stop_source of_second;
  std::string printed;

  std::future<bank::ending> queued;
  const auto how = first.service.close_day(tonight, of_first.get_token(), [&](const std::string& id) {
    printed += id;
    queued = std::async(std::launch::async, [&] {
      return second.service.close_day(tonight, of_second.get_token(), [](const std::string&) {});
    });
    wait_for_entries(servers, "/locks/nightly", 2);
    of_second.request_stop();
    CHECK(queued.get() == bank::ending::shutdown);
    of_first.request_stop();
  });

  CHECK(how == bank::ending::shutdown);
  CHECK(printed == "17");
  CHECK(servers.children("/locks/nightly").empty());
}

TEST_CASE("a reload at one instance reaches the others, and a bad file leaves the old settings") {
  simulated_ensemble servers;
  const settings_file settings;
  bank::ledger ledger;
  instance first{servers, ledger, settings};
  instance second{servers, ledger, settings};
  CHECK(second.post("/accounts/17/deposit?amount=150").status == 422);

  settings.write(R"({"max_deposit": 200})");
  CHECK(second.post("/accounts/17/deposit?amount=150").status == 422);
  CHECK(body(first.post("/reload")) == json{{"max_deposit", 200}});
  CHECK(second.post("/accounts/17/deposit?amount=150").status == 200);

  settings.write("{");
  CHECK(first.post("/reload").status == 500);
  CHECK(second.post("/accounts/17/deposit?amount=150").status == 200);
}
