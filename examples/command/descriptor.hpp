// SPDX-License-Identifier: Apache-2.0
#pragma once

/// A file descriptor that is closed.

#include <unistd.h>

namespace command {

class descriptor {
 public:
  /// @param number below zero: none
  explicit descriptor(int number) noexcept : number_{number} {}
  ~descriptor() {
    if (number_ >= 0) ::close(number_);
  }
  descriptor(const descriptor&) = delete;
  descriptor& operator=(const descriptor&) = delete;
  int number() const noexcept { return number_; }

 private:
  int number_;
};

}  // namespace command
