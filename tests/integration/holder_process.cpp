// SPDX-License-Identifier: Apache-2.0
/// A process that holds a lock and looks at its grant when it is told to: `holder_process CONNECT PATH SESSION_MS`.
/// It says "held TOKEN", and for each line that it reads "held" or "lost REASON"; it ends with its input.

#include <latchkey/mutex.hpp>

#include <cstdlib>
#include <iostream>
#include <string>

int main(int argc, char** argv) {
  if (argc != 4) return 2;
  latchkey::client_options options;
  options.session_timeout = std::chrono::milliseconds{std::atoi(argv[3])};
  latchkey::client client{argv[1], options};
  latchkey::mutex lock{client, argv[2]};
  lock.lock();
  const auto grant = lock.held();
  std::cout << "held " << to_string(grant.fence()) << std::endl;
  for (std::string line; std::getline(std::cin, line);) {
    if (grant) {
      std::cout << "held" << std::endl;
    } else {
      std::cout << "lost " << to_string(grant.loss().value()) << std::endl;
    }
  }
}
