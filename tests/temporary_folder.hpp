// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Files of a test.

#include <stdlib.h>
#include <sys/stat.h>

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <string>
#include <system_error>

namespace latchkey::testing {

/// Is removed at the end, with all that is in it.
class temporary_folder {
 public:
  temporary_folder() {
    std::string name = (std::filesystem::temp_directory_path() / "latchkey-test-XXXXXX").string();
    require(::mkdtemp(name.data()) != nullptr);
    path_ = name;
  }
  ~temporary_folder() { std::filesystem::remove_all(path_); }
  temporary_folder(const temporary_folder&) = delete;
  temporary_folder& operator=(const temporary_folder&) = delete;
  /// @returns the path of a file with that text.
  std::string file(const std::string& name, const std::string& text, mode_t mode) const {
    const auto file = path_ / name;
    std::ofstream{file} << text;
    require(::chmod(file.c_str(), mode) == 0);
    return file.string();
  }
  std::filesystem::path operator/(const char* name) const { return path_ / name; }

 private:
  static void require(bool done) {
    if (!done) throw std::system_error{errno, std::generic_category(), "a file of a test"};
  }

  std::filesystem::path path_;
};

/// A file in a folder of its own.
class file_with {
 public:
  explicit file_with(const std::string& text, mode_t mode = 0600) : path_{folder_.file("file", text, mode)} {}
  const std::string& path() const noexcept { return path_; }

 private:
  const temporary_folder folder_;
  const std::string path_;
};

}  // namespace latchkey::testing
