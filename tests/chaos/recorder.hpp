// SPDX-License-Identifier: Apache-2.0
#pragma once

/// The pen of one process.

#include <filesystem>
#include <string>

#include "history.hpp"

namespace chaos {

/// Appends records to a file, each with one write(2): what was written survives a SIGKILL. From any thread.
class recorder {
 public:
  /// @throws std::system_error when the file cannot be made
  explicit recorder(const std::filesystem::path& file);
  recorder(const recorder&) = delete;
  recorder& operator=(const recorder&) = delete;
  ~recorder();

  void add(const event& what) noexcept { append(to_line(what)); }
  void add(const fault& what) noexcept { append(to_line(what)); }

 private:
  void append(std::string line) noexcept;

  int file_ = -1;
};

}  // namespace chaos
