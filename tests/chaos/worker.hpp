// SPDX-License-Identifier: Apache-2.0
#pragma once

/// A worker process: fibers that take locks, and write down what they see.

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "family.hpp"

namespace chaos {

struct worker_options {
  std::string name;                  ///< "w2.1"
  std::vector<std::string> program;  ///< of another library, with its first arguments; empty: this one
  std::filesystem::path folder;
  std::string connect_string;
  std::chrono::milliseconds session_timeout{};
  std::uint64_t seed = 0;
  std::uint32_t turns = 16;
  std::chrono::milliseconds linger{};
  std::vector<family> families;  ///< one for each lock
  bool common = false;           ///< it is compared with those of other services
  int threads = 1;
  int fibers = 1;      ///< on each thread
  bool peers = false;  ///< its locks hand off directly
  bool log = false;
};

/// @returns the session file of a slot ("w2"), which every other one has; empty: none. The next worker ends the session of
/// one that was killed.
std::string session_file_of(const std::string& slot, const std::filesystem::path& folder);

/// Works until stdin says "finish"; then each fiber takes each lock once more; then says "finished"; on "close" it
/// closes its client. "clock <ms>" sets its wall clock, relative to the true one. Ends at once when stdin does.
/// @returns the exit code
int run_worker(const worker_options& how);

/// @returns the path of a lock.
std::string lock_path(int lock);

/// @returns the path of the nodes on which its grants rest.
std::string node_path(int lock, family of);

}  // namespace chaos
