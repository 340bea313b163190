// SPDX-License-Identifier: Apache-2.0
#pragma once

/// The program `latchkey`, and a real server.

#include <doctest/doctest.h>

#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include <latchkey/testing/child_process.hpp>

#include "announced_ensemble.hpp"
#include "temporary_folder.hpp"

namespace latchkey::testing {

using namespace std::chrono_literals;
using nlohmann::json;

inline constexpr auto time_to_end = 60s;

inline ensemble& servers() {
  static announced_ensemble all{{.servers = 1}};
  return all;
}

/// Unlike those of other programs on this machine: what their runs have left in control groups is theirs to end.
inline std::string fresh_path() {
  static int count = 0;
  return "/command-" + std::to_string(::getpid()) + "/" + std::to_string(++count);
}

/// A run of the program.
class run {
 public:
  explicit run(std::vector<std::string> arguments) {
    for (const auto* variable : {"CONNECT", "AUTH_FILE", "SESSION_TIMEOUT", "LABEL"})
      ::unsetenv((std::string{"LATCHKEY_"} + variable).c_str());
    static const temporary_folder for_sessions;
    ::setenv("XDG_RUNTIME_DIR", (for_sessions / "").c_str(), 1);
    arguments.insert(arguments.begin(), LATCHKEY_COMMAND);
    child_.start(arguments, {.log = folder_ / "err"});
  }

  std::optional<std::string> hear() { return child_.hear(time_to_end); }
  int pid() const { return child_.pid(); }
  void signal(int number) { child_.signal(number); }

  /// Waits for its end. @returns "exit code 0"
  std::string end() {
    while (const auto line = child_.hear(time_to_end)) out += *line + '\n';
    const auto how = child_.wait(time_to_end).value_or("it has not ended");
    std::ifstream file{folder_ / "err"};
    err.assign(std::istreambuf_iterator<char>{file}, {});
    return how;
  }

  std::string out{};
  std::string err{};

 private:
  temporary_folder folder_;
  child_process child_;
};

/// Runs it to its end, connected to the server.
struct result {
  explicit result(std::vector<std::string> arguments) {
    arguments.insert(arguments.end(), {"-c", servers().connect_string()});
    run one{std::move(arguments)};
    how = one.end();
    out = one.out;
    err = one.err;
  }
  json object() const { return json::parse(out); }

  std::string how;
  std::string out;
  std::string err;
};

inline bool has(const std::string& text, std::string_view what) { return text.find(what) != std::string::npos; }

template <class Predicate>
bool eventually(Predicate pred) {
  const auto end = std::chrono::steady_clock::now() + time_to_end;
  while (!pred()) {
    if (std::chrono::steady_clock::now() > end) return false;
    std::this_thread::yield();
  }
  return true;
}

}  // namespace latchkey::testing
