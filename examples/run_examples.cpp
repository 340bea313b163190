// SPDX-License-Identifier: Apache-2.0
// run_examples PROGRAM...: runs each program with the connect string of an ensemble made for them. Exits with the
// number of those that failed.

#include <latchkey/testing/ensemble.hpp>

#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <exception>
#include <iostream>
#include <string>

namespace {

/// @returns whether the program ended with exit code 0.
bool run(char* program, std::string argument) {
  std::cout << "== " << program << std::endl;
  char* arguments[] = {program, argument.data(), nullptr};
  pid_t child = 0;
  if (const int why = ::posix_spawn(&child, program, nullptr, nullptr, arguments, environ); why != 0) {
    std::cout << "cannot be started: " << std::strerror(why) << std::endl;
    return false;
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return true;
  std::cout << "FAILED: " << (WIFEXITED(status) ? "exit code " : "signal ")
            << (WIFEXITED(status) ? WEXITSTATUS(status) : WTERMSIG(status)) << std::endl;
  return false;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    std::cerr << "usage: run_examples PROGRAM...\n";
    return 2;
  }
  try {
    const latchkey::testing::ensemble servers;
    int failed = 0;
    for (int i = 1; i < argc; ++i) failed += run(argv[i], servers.connect_string()) ? 0 : 1;
    return failed;
  } catch (const std::exception& failure) {
    std::cerr << "run_examples: " << failure.what() << '\n';
    return 1;
  }
}
