// SPDX-License-Identifier: Apache-2.0
// A unit test of a service that loses its lock: what needs neither a server nor Java.

#include <latchkey/mutex.hpp>
#include <latchkey/testing/simulated_ensemble.hpp>

#include <cstdio>

namespace {

int failures = 0;

void check(bool holds, const char* what) {
  if (holds) return;
  std::printf("FAILED: %s\n", what);
  ++failures;
}

}  // namespace

int main() {
  latchkey::testing::simulated_ensemble ensemble;
  latchkey::client client{ensemble};
  latchkey::mutex nightly{client, "/locks/nightly"};
  const auto held = nightly.acquire();
  check(static_cast<bool>(held), "the lock is held");
  ensemble.advance(std::chrono::hours{1});
  check(static_cast<bool>(held), "the lock is held an hour later");
  ensemble.expire_session(client);
  check(held.grant().loss() == latchkey::loss_reason::session_expired, "the lock is lost");
  check(held.stop_token().stop_requested(), "the holder is told");
  return failures;
}
