// SPDX-License-Identifier: Apache-2.0
// Take a lock, work, release it.

#include "with_connect_string.hpp"

#include <latchkey/mutex.hpp>

#include <iostream>

void work(const std::string& connect_string) {
  latchkey::client client{connect_string};  // "zk1:2181,zk2:2181,zk3:2181/billing"
  latchkey::mutex nightly{client, "/locks/nightly"};

  auto held = nightly.acquire();  // waits; released at the end of the scope
  std::cout << "we have it, with fencing token " << to_string(held.fence()) << '\n';
}

int main(int argc, char** argv) {
  return with_connect_string(argc, argv, [](const std::string& connect_string) {
    work(connect_string);
    return true;
  });
}
