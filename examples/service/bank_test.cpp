// SPDX-License-Identifier: Apache-2.0
// The program as it is deployed: against real servers, over HTTP, until SIGTERM.

#include <latchkey/mutex.hpp>
#include <latchkey/testing/child_process.hpp>
#include <latchkey/testing/ensemble.hpp>

#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <future>
#include <iterator>

#include <doctest/doctest.h>
#include <boost/asio/ip/tcp.hpp>
#include <nlohmann/json.hpp>

using namespace std::chrono_literals;
using latchkey::testing::child_process;
using latchkey::testing::ensemble;
using nlohmann::json;

namespace {

/// @returns everything that the service sends.
std::string request(int port, const std::string& what) {
  boost::asio::ip::tcp::iostream connection{"127.0.0.1", std::to_string(port)};
  connection << what << " HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\n\r\n" << std::flush;
  return {std::istreambuf_iterator<char>{connection}, {}};
}

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

/// @returns the line of the log that tells this event.
json hear(child_process& service, const std::string& event) {
  for (;;) {
    const auto line = service.hear(30s);
    REQUIRE(line);
    auto fields = json::parse(*line);
    if (fields.at("event") == event) return fields;
  }
}

}  // namespace

TEST_CASE("the service answers, stops at SIGTERM, and leaves nothing behind") {
  ensemble servers;
  const auto config = std::filesystem::temp_directory_path() / ("bank." + std::to_string(::getpid()));
  std::ofstream{config} << R"({"max_deposit": 100})";
  child_process service{{BANK, servers.connect_string(), "0", config.string()}};
  const int port = hear(service, "serving").at("port");
  hear(service, "nightly job ended");  // connected, and the job of this night is done

  CHECK(has(request(port, "POST /accounts/17/deposit?amount=5"), "{\"balance\":5}"));
  CHECK(has(request(port, "GET /accounts/17"), "HTTP/1.1 200"));
  CHECK(has(request(port, "GET /health"), "\"up\""));
  CHECK(has(request(port, "GET /metrics"), "latchkey_granted_total{group=\"accounts\"} 1"));
  CHECK(servers.children("/locks/config").size() == 1);  // it lingers

  latchkey::client clerk{servers.connect_string(), {.label = "clerk"}};
  latchkey::mutex account{clerk, "/locks/accounts/17"};
  const auto held = account.acquire();
  auto conflict = std::async(std::launch::async, [&] { return request(port, "POST /accounts/17/deposit?amount=5"); });
  while (servers.children(account.path()).size() < 2 && conflict.wait_for(10ms) != std::future_status::ready) continue;
  service.signal(SIGTERM);  // while that request waits
  const auto answer = conflict.get();
  CHECK(has(answer, "HTTP/1.1 409"));
  CHECK(has(answer, "Retry-After: 1"));
  CHECK(has(answer, "\"clerk\""));
  CHECK(service.wait(30s) == "exit code 0");
  clerk.close();
  std::filesystem::remove(config);
  for (const auto* path : {"/locks/config", "/locks/nightly", "/locks/accounts/17"}) {
    CHECK_MESSAGE(servers.children(path).empty(), path);
  }
}
