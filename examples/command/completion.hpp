// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Completion of the command line in shells.

#include <string>

#include <CLI/CLI.hpp>

namespace command {

/// @param shell "bash", "zsh" or "fish"
/// @returns a script for the commands and options of `app`, which must have been described.
std::string completion_for(const std::string& shell, const CLI::App& app);

}  // namespace command
