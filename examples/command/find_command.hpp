// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Finds the file of a command.

#include <stdexcept>
#include <string>

#include "exit_code.hpp"

namespace command {

/// A command that cannot be executed.
struct not_executable : std::runtime_error {
  not_executable(exit_code how, const std::string& what) : std::runtime_error{what}, code{how} {}
  exit_code code;
};

/// @returns the error for an `errno`.
not_executable no_command(const std::string& name, int why);

/// As a shell does, before the lock is waited for. @throws not_executable
std::string find_command(const std::string& name);

}  // namespace command
