// SPDX-License-Identifier: Apache-2.0
#pragma once
// What the tests of the test cluster share.

#include <doctest/doctest.h>

#include <chrono>
#include <latchkey/testing/ensemble.hpp>
#include <thread>

#include "../announced_ensemble.hpp"

namespace latchkey::testing {

using namespace std::chrono_literals;

constexpr auto patience = 30s;  // far more than anything takes

/// @returns whether the condition comes true while we are patient.
template <class Condition>
bool eventually(Condition holds) {
  const auto deadline = std::chrono::steady_clock::now() + patience;
  while (!holds()) {
    if (std::chrono::steady_clock::now() > deadline) return false;
    std::this_thread::sleep_for(5ms);
  }
  return true;
}

/// One server for all tests that do not hurt it; every test uses a path of its own.
inline ensemble& one_server() {
  static announced_ensemble server{{.servers = 1}};
  return server;
}

/// Three servers whose links can be cut; whole again after every test.
inline ensemble& three_servers() {
  static announced_ensemble servers{{.servers = 3, .quorum_proxies = true}};
  return servers;
}

}  // namespace latchkey::testing
