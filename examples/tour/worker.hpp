// SPDX-License-Identifier: Apache-2.0
#pragma once

/// A process that takes the locks of the tour.

#include <chrono>
#include <string>

namespace tour {

struct worker_options {
  std::string name;
  std::string connect_string;
  std::string path = "/latchkey-tour/lock";
  std::chrono::milliseconds session_timeout{};
  int threads = 2;
  int fibers = 3;      ///< spread over the threads
  int turns = 2;       ///< of the fibers of one process, before others get theirs
  bool obeys = false;  ///< has one thread, and does with the read-write lock what the tour orders
  bool log = false;    ///< what the library has to say, to stderr
};

/// Takes, uses and releases the lock from several fibers, or obeys, until the tour says stop; its stdin and stdout are
/// the link to the tour. @returns the exit code.
int run_worker(const worker_options& how);

}  // namespace tour
