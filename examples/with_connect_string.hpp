// SPDX-License-Identifier: Apache-2.0
#pragma once

/// What the main functions of the small examples have in common.

#include <exception>
#include <iostream>
#include <string>

/// Runs the example with the connect string of the command line. @returns the exit code of the program.
inline int with_connect_string(int argc, char** argv, bool (*example)(const std::string& connect_string)) {
  if (argc != 2) {
    std::cerr << "usage: " << argv[0] << " host:port[,host:port...][/chroot]\n";
    return 2;
  }
  try {
    return example(argv[1]) ? 0 : 1;
  } catch (const std::exception& failure) {
    std::cerr << argv[0] << ": " << failure.what() << '\n';
    return 1;
  }
}
