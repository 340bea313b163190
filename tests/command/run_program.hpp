// SPDX-License-Identifier: Apache-2.0
#pragma once

/// `latchkey run`, and what can be seen of it from outside.

#include <sys/xattr.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <system_error>
#include <vector>

#include <latchkey/client.hpp>
#include <latchkey/client_options.hpp>
#include <latchkey/queue_snapshot.hpp>

#include "program.hpp"

namespace latchkey::testing {

using arguments = std::vector<std::string>;

inline arguments with(arguments first, const arguments& rest) {
  first.insert(first.end(), rest.begin(), rest.end());
  return first;
}

/// @returns the arguments of a run of `command` under the lock at `path`.
inline arguments run_at(const std::string& path, const arguments& options, const arguments& command) {
  const arguments first{"run", "-c", servers().connect_string(), "--path", path};
  return with(with(with(first, options), {"--"}), command);
}

inline arguments shell(const std::string& script) { return {"sh", "-c", script}; }

struct ended_run {
  explicit ended_run(const arguments& what) {
    run one{what};
    how = one.end();
    out = one.out;
    err = one.err;
  }
  std::string how;
  std::string out;
  std::string err;
};

/// @returns how it ended under a fresh path.
inline std::string end_of(const arguments& options, const arguments& command) {
  return ended_run{run_at(fresh_path(), options, command)}.how;
}

inline client_options quiet() {
  client_options options;
  options.session_timeout = 4s;
  return options;
}

inline std::size_t contenders_at(client& through, const std::string& path) {
  return queue_snapshot{through, path}.contenders().size();
}

/// @returns the processes with this text in their arguments.
inline std::vector<int> all_with(const std::string& text) {
  std::vector<int> all;
  for (const auto& each : std::filesystem::directory_iterator{"/proc"}) {
    std::ifstream file{each.path() / "cmdline"};
    bool found = false;  // a process may end meanwhile: then nothing more is read
    for (std::string word; std::getline(file, word, '\0');) found = found || has(word, text);
    if (found) all.push_back(std::atoi(each.path().filename().c_str()));
  }
  return all;
}

/// @returns the control groups of runs under the lock at `path`.
inline std::vector<std::filesystem::path> control_groups_of(const std::string& path) {
  std::vector<std::filesystem::path> all;
  std::error_code gone;
  for (const auto& each : std::filesystem::recursive_directory_iterator{"/sys/fs/cgroup", gone}) {
    std::string paths(1024, '\0');
    const auto size = ::getxattr(each.path().c_str(), "user.latchkey.paths", paths.data(), paths.size());
    if (size > 0 && paths.substr(0, static_cast<std::size_t>(size)) == path) all.push_back(each.path());
  }
  return all;
}

inline std::size_t processes_with(const std::string& text) { return all_with(text).size(); }

/// Says so if not.
/// @returns whether a process may make a control group here.
inline bool has_cgroups() {
  const ended_run one{run_at(fresh_path(), {"--contain", "cgroup"}, {"true"})};
  if (one.how == "exit code 0") return true;
  CHECK(one.how == "exit code 125");
  CHECK(has(one.err, "--contain=cgroup: "));
  MESSAGE("not run: " << one.err);
  return false;
}

}  // namespace latchkey::testing
