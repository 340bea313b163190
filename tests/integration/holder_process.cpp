// SPDX-License-Identifier: Apache-2.0
/// A process that holds a lock and looks at its grant when it is told to: `holder_process CONNECT PATH SESSION_MS`, and
/// "direct" if its lock hands off so, "robust" if it is a `robust_mutex`, or "recorded FILE" and "robust FILE" if its client
/// has a session file. It says "held TOKEN", or "refused REASON" if it has no client, and for each line that it reads "held"
/// or "lost REASON", "unlocked" if the line says "unlock", "forked PID" of a child that outlives it if it says "fork"; it
/// executes itself if it says "exec", and ends in the way that it says: "exit", "quick_exit", "_exit", "abort" or "throw". It
/// returns from main with its input.

#include <latchkey/mutex.hpp>
#include <latchkey/robust_mutex.hpp>

#include <unistd.h>

#include <cstdlib>
#include <exception>
#include <iostream>
#include <stdexcept>
#include <string>
#include <thread>

namespace {

/// @param argv to execute itself with. @returns the exit code
template <class Lock>
int hold(Lock& lock, char** argv) {
  lock.lock();
  const auto grant = lock.held();
  std::cout << "held " << to_string(grant.fence()) << std::endl;
  for (std::string line; std::getline(std::cin, line);) {
    if (line == "unlock") {
      lock.unlock();
      std::cout << "unlocked" << std::endl;
    } else if (line == "fork") {
      const auto child = ::fork();
      if (child == 0) {
        ::close(STDOUT_FILENO);  // whose end is that of this process for who hears it
        while (::sleep(60) == 0) {
        }
        ::_exit(0);
      }
      std::cout << "forked " << child << std::endl;
    } else if (line == "exec") {
      ::execv("/proc/self/exe", argv);
    } else if (line == "exit") {
      std::exit(0);  // which destroys no local object, as the client is
    } else if (line == "quick_exit") {
      std::quick_exit(0);
    } else if (line == "_exit") {
      ::_exit(0);
    } else if (line == "abort") {
      std::abort();
    } else if (line == "throw") {
      std::thread{[] { throw std::runtime_error{"nobody catches this"}; }}.join();
    } else if (grant) {
      std::cout << "held" << std::endl;
    } else {
      std::cout << "lost " << to_string(grant.loss().value()) << std::endl;
    }
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) try {
  if (argc < 4 || argc > 6) return 2;
  const std::string kind = argc > 4 ? argv[4] : "";
  const bool direct = kind == "direct";
  latchkey::client_options options;
  options.session_timeout = std::chrono::milliseconds{std::atoi(argv[3])};
  if (direct) options.peers.emplace();
  if (argc == 6) options.session_file = argv[5];
  latchkey::client client{argv[1], options};
  if (kind == "robust") {
    latchkey::robust_mutex lock{client, argv[2]};
    return hold(lock, argv);
  }
  const auto how = direct ? latchkey::hand_off::direct : latchkey::hand_off::ensemble;
  latchkey::mutex lock{client, argv[2], {.how = how}};
  return hold(lock, argv);
} catch (const std::exception& failure) {
  std::cout << "refused " << failure.what() << std::endl;
}
