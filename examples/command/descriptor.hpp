// SPDX-License-Identifier: Apache-2.0
#pragma once

/// A file descriptor that is closed, and what went wrong.

#include <unistd.h>

#include <cerrno>
#include <system_error>
#include <utility>

namespace command {

/// @returns the error of the system call that has just failed.
inline std::system_error failure(const char* what) { return {errno, std::generic_category(), what}; }

class descriptor {
 public:
  /// @param number below zero: none
  explicit descriptor(int number) noexcept : number_{number} {}
  ~descriptor() {
    if (number_ >= 0) ::close(number_);
  }
  descriptor(descriptor&& other) noexcept : number_{std::exchange(other.number_, -1)} {}
  descriptor& operator=(descriptor&& other) noexcept {
    std::swap(number_, other.number_);
    return *this;
  }
  int number() const noexcept { return number_; }

 private:
  int number_;
};

}  // namespace command
