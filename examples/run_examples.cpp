// SPDX-License-Identifier: Apache-2.0
// run_examples PROGRAM...: runs each program with the connect string of an ensemble made for them. Exits with the
// number of those that failed.

#include <latchkey/testing/child_process.hpp>
#include <latchkey/testing/ensemble.hpp>

#include <exception>
#include <iostream>
#include <string>

namespace {

/// @returns whether the program ended with exit code 0.
bool run(const std::string& program, const std::string& argument) {
  std::cout << "== " << program << std::endl;
  const latchkey::testing::child_process child{{program, argument}, {.talks = false}};
  const auto ending = child.wait();
  if (ending == "exit code 0") return true;
  std::cout << "FAILED: " << ending.value_or("does not end") << std::endl;
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
