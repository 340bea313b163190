// SPDX-License-Identifier: Apache-2.0
/// Locks over TLS, with stunnel beside the client.

#include <latchkey/mutex.hpp>

#include <chrono>
#include <mutex>
#include <string>
#include <thread>

#include <doctest/doctest.h>
#include <latchkey/testing/raw_client.hpp>

#include "secure_ensemble.hpp"

namespace latchkey::testing {
namespace {

using namespace std::chrono_literals;

constexpr auto patience = 60s;

secure_ensemble& secure() {
  static secure_ensemble instance;
  return instance;
}

template <class Predicate>
bool eventually(Predicate pred) {
  const auto end = std::chrono::steady_clock::now() + patience;
  while (!pred()) {
    if (std::chrono::steady_clock::now() > end) return false;
    std::this_thread::sleep_for(10ms);
  }
  return true;
}

}  // namespace

TEST_SUITE("tls") {
  TEST_CASE("a lock is held through stunnel, and outlives the restart of each server") {
    auto& servers = secure().servers();
    tunnel through{secure(), "ca.pem", {name_of(0), name_of(1), name_of(2)}};
    client owner{through.connect_string(), {.session_timeout = 20s}};
    REQUIRE(owner.wait_for_connection(patience));
    mutex lock{owner, "/tls/lock"};
    const std::lock_guard guard{lock};
    const auto grant = lock.held();
    for (std::size_t i = 0; i < servers.size(); ++i) {
      servers.kill(i);
      const auto proved = grant.valid_until();
      CHECK(eventually([&] { return grant.valid_until() > proved; }));
      CHECK(grant);
      servers.start(i);
      servers.wait_until_serving(i, patience);
    }
    CHECK(servers.children("/tls/lock").size() == 1);
  }

  TEST_CASE("the secure port accepts TLS only") {
    CHECK_THROWS_AS(raw_client(secure().secure_address(0), {.request_timeout = 2s}), connection_failure);
  }

  TEST_CASE("a server with another host name is refused") {
    tunnel through{secure(), "ca.pem", {"other.example", name_of(0), name_of(1)}};
    client owner{through.connect_string(), {.session_timeout = 20s}};
    CHECK(eventually([&] { return through.has_said("Rejected by CERT at depth=0: CN=" + name_of(2)); }));
    CHECK(eventually([&] { return through.has_said("Rejected by CERT at depth=0: CN=" + name_of(0)); }));
    CHECK_FALSE(through.has_said("Certificate accepted at depth=0"));
    CHECK_FALSE(owner.connected());
  }

  TEST_CASE("a server whose certificate has another issuer is refused") {
    tunnel through{secure(), "other-ca.pem", {name_of(0), name_of(1), name_of(2)}};
    client owner{through.connect_string(), {.session_timeout = 20s}};
    CHECK(eventually([&] { return through.has_said("certificate verify failed"); }));
    CHECK_FALSE(through.has_said("Certificate accepted at depth=0"));
    CHECK_FALSE(owner.connected());
  }
}

}  // namespace latchkey::testing
