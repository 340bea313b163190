// SPDX-License-Identifier: Apache-2.0
#pragma once
// Where the servers keep their data.

#include <filesystem>

#include "unique_fd.hpp"

namespace latchkey::testing::detail {

/// A folder for the data: in memory if there is /dev/shm; removed at the end unless LATCHKEY_KEEP_DATA is set. Folders
/// of processes that were killed are removed by the next one.
class temporary_folder {
 public:
  /// @param given  use (and keep) this folder instead; empty: make one. @throws cluster_error
  explicit temporary_folder(const std::filesystem::path& given);
  temporary_folder(const temporary_folder&) = delete;
  temporary_folder& operator=(const temporary_folder&) = delete;
  ~temporary_folder();

  [[nodiscard]] const std::filesystem::path& path() const noexcept { return path_; }

 private:
  std::filesystem::path path_;
  bool keep_ = true;
  unique_fd lock_;  // held as long as the folder is in use
};

}  // namespace latchkey::testing::detail
