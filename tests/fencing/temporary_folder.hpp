// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Where a test keeps its data.

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <string>
#include <system_error>

namespace latchkey::testing {

/// A folder, in memory if there is /dev/shm. Removed at the end.
class temporary_folder {
 public:
  temporary_folder() {
    const std::filesystem::path memory{"/dev/shm"};
    const auto base = ::access(memory.c_str(), W_OK | X_OK) == 0 ? memory : std::filesystem::temp_directory_path();
    auto name = (base / "latchkey-fencing-XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr) throw std::system_error{errno, std::generic_category(), name};
    path_ = name;
  }
  temporary_folder(const temporary_folder&) = delete;
  temporary_folder& operator=(const temporary_folder&) = delete;
  ~temporary_folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }

  const std::filesystem::path& path() const noexcept { return path_; }

 private:
  std::filesystem::path path_;
};

}  // namespace latchkey::testing
