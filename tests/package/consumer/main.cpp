// SPDX-License-Identifier: Apache-2.0
// What needs no server: a client that does not know where its ensemble is says so.

#include <latchkey/client.hpp>
#include <latchkey/mutex.hpp>

#include <cstdio>

int main() {
  try {
    latchkey::client client{""};
    latchkey::mutex mutex{client, "/locks/nightly"};
  } catch (const latchkey::error& refused) {
    std::printf("refused, as it must be: %s\n", refused.what());
    return 0;
  }
  std::puts("an empty connect string was accepted");
  return 1;
}
