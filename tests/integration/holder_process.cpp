// SPDX-License-Identifier: Apache-2.0
/// A process that holds a lock and looks at its grant when it is told to: `holder_process CONNECT PATH SESSION_MS`, and
/// "direct" if its lock hands off so. It says "held TOKEN", and for each line that it reads "held" or "lost REASON", or
/// "unlocked" if the line says "unlock"; it ends with its input.

#include <latchkey/mutex.hpp>

#include <cstdlib>
#include <iostream>
#include <string>

int main(int argc, char** argv) {
  if (argc != 4 && argc != 5) return 2;
  const bool direct = argc == 5;
  latchkey::client_options options;
  options.session_timeout = std::chrono::milliseconds{std::atoi(argv[3])};
  if (direct) options.peers.emplace();
  latchkey::client client{argv[1], options};
  const auto how = direct ? latchkey::hand_off::direct : latchkey::hand_off::ensemble;
  latchkey::mutex lock{client, argv[2], {.how = how}};
  lock.lock();
  const auto grant = lock.held();
  std::cout << "held " << to_string(grant.fence()) << std::endl;
  for (std::string line; std::getline(std::cin, line);) {
    if (line == "unlock") {
      lock.unlock();
      std::cout << "unlocked" << std::endl;
    } else if (grant) {
      std::cout << "held" << std::endl;
    } else {
      std::cout << "lost " << to_string(grant.loss().value()) << std::endl;
    }
  }
}
