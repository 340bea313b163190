// SPDX-License-Identifier: Apache-2.0
// A service that is killed while it holds a lock, and has it again as soon as it is restarted.

#include <latchkey/mutex.hpp>

#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <string>
#include <utility>

#include "with_connect_string.hpp"

namespace {

using clock_of_main = std::chrono::steady_clock;

/// What the service does, in a process of its own.
int serve(const std::string& connect_string, const std::string& file, bool is_killed) {
  latchkey::client_options options;
  options.session_file = file;  // of a service: below /run, on this host
  latchkey::client client{connect_string, options};
  latchkey::mutex accounts{client, "/locks/restart"};
  const auto held = accounts.acquire();
  std::cout << "held by process " << ::getpid() << " with token " << to_string(held.fence()) << std::endl;
  if (is_killed) std::raise(SIGKILL);  // without closing anything
  return 0;
}

/// @returns how it has ended, and after how long.
std::pair<int, std::chrono::milliseconds> run(const std::string& connect_string, const std::string& file, bool killed) {
  const auto begin = clock_of_main::now();
  const auto service = ::fork();
  if (service == 0) ::_exit(serve(connect_string, file, killed));
  int status = 0;
  ::waitpid(service, &status, 0);
  return {status, std::chrono::duration_cast<std::chrono::milliseconds>(clock_of_main::now() - begin)};
}

bool example(const std::string& connect_string) {
  const auto file = std::filesystem::temp_directory_path() / ("latchkey-restart-" + std::to_string(::getpid()));
  const auto [killed, lived] = run(connect_string, file, true);
  const auto [ended, took] = run(connect_string, file, false);
  std::filesystem::remove(file);
  std::cout << "the second process has started, held the lock and ended within " << took.count()
            << " ms; without the file it would wait for the session timeout of 10 s\n";
  return WIFSIGNALED(killed) && WIFEXITED(ended) && WEXITSTATUS(ended) == 0;
}

}  // namespace

int main(int argc, char** argv) { return with_connect_string(argc, argv, example); }
