// SPDX-License-Identifier: Apache-2.0
#include "run_report.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <optional>
#include <sstream>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "descriptor.hpp"
#include "show.hpp"

namespace command {
namespace {

std::string escaped(const std::string& text) {
  std::string safe;
  for (const char each : printable(text)) {  // where a backslash is escaped already
    if (each == '"') safe += '\\';
    safe += each;
  }
  return safe;
}

/// @param label as `run="nightly"`. @returns the samples with that label besides their own.
std::string with_label(const std::string& samples, const std::string& label) {
  std::string all;
  std::istringstream lines{samples};
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with('#')) {
      const auto at = line.find_first_of("{ ");
      const bool has_others = at < line.size() && line[at] == '{';
      line.insert(has_others ? at + 1 : at, has_others ? label + "," : "{" + label + "}");
    }
    all += line + '\n';
  }
  return all;
}

std::string_view name_of(outcome what) {
  constexpr std::array<std::string_view, 9> names{"ended", "stopped", "conflict",  "lost",       "max-hold",
                                                  "asked", "failed",  "cancelled", "not-started"};
  return names.at(static_cast<std::size_t>(what));
}

}  // namespace

std::string report_of(const run_result& what) {
  nlohmann::json all{{"outcome", name_of(what.what)},
                     {"exit_code", what.exit_code},
                     {"path", printable(what.path)},
                     {"waited_ms", what.waited.count()},
                     {"held_ms", what.held.count()}};
  if (!what.lost.empty()) all["lost"] = what.lost;
  if (what.fence) all["fence"] = to_string(*what.fence);
  if (what.status && WIFEXITED(*what.status)) all["status"] = WEXITSTATUS(*what.status);
  if (what.status && WIFSIGNALED(*what.status)) all["signal"] = WTERMSIG(*what.status);
  return all.dump() + '\n';
}

std::string metrics_of(const run_result& what, const std::string& file, std::chrono::system_clock::time_point now) {
  const auto seconds = [](auto time) { return std::chrono::duration<double>{time}.count(); };
  auto all = what.client ? to_prometheus(*what.client) : std::string{};
  const auto add = [&](std::string_view name, std::string_view help, const auto& value,
                       const std::string& labels = {}) {
    fmt::format_to(std::back_inserter(all), "# HELP latchkey_run_{0} {1}\n# TYPE latchkey_run_{0} gauge\n", name, help);
    fmt::format_to(std::back_inserter(all), "latchkey_run_{}{} {}\n", name, labels, value);
  };
  add("exit_code", "Exit code of the last run.", what.exit_code);
  add("outcome", "How the last run ended.", 1, fmt::format("{{outcome=\"{}\"}}", name_of(what.what)));
  add("wait_seconds", "Time that the last run waited for the lock.", seconds(what.waited));
  add("hold_seconds", "Time that the last run had the lock.", seconds(what.held));
  add("end_time_seconds", "When the last run ended, since 1970.", seconds(now.time_since_epoch()));
  return with_label(all, fmt::format("run=\"{}\"", escaped(std::filesystem::path{file}.stem().string())));
}

/// Opened again, a file would be written from its beginning, or what is written next would be written over this.
/// @returns the open file of this process that the name stands for.
std::optional<int> standard_output_of(const std::string& name) {
  if (name == "/dev/stdout" || name == "/dev/fd/1" || name == "/proc/self/fd/1") return STDOUT_FILENO;
  if (name == "/dev/stderr" || name == "/dev/fd/2" || name == "/proc/self/fd/2") return STDERR_FILENO;
  return std::nullopt;
}

/// A pipe that no one reads does not keep us.
descriptor open_to_write(const std::string& name) {
  if (const auto mine = standard_output_of(name)) {
    pollfd room{*mine, POLLOUT, 0};
    if (::poll(&room, 1, 0) == 1) return descriptor{::fcntl(*mine, F_DUPFD_CLOEXEC, 0)};
    errno = EAGAIN;
    return descriptor{-1};
  }
  return descriptor{::open(name.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NONBLOCK, 0666)};
}

void write_file(const std::string& name, const std::string& text) {
  std::error_code ignored;
  const auto kind = std::filesystem::symlink_status(name, ignored).type();
  if (kind != std::filesystem::file_type::regular && kind != std::filesystem::file_type::not_found) {
    const auto into = open_to_write(name);
    if (into.number() < 0 || ::write(into.number(), text.data(), text.size()) != static_cast<ssize_t>(text.size()))
      std::cerr << "latchkey: cannot write " << printable(name) << ": " << std::strerror(errno) << '\n';
    return;
  }
  const auto other = fmt::format("{}.{}", name, ::getpid());
  std::ofstream file{other, std::ios::trunc};
  file << text;
  file.close();
  if (!file || std::rename(other.c_str(), name.c_str()) != 0) {
    std::cerr << "latchkey: cannot write " << printable(name) << ": " << std::strerror(errno) << '\n';
    static_cast<void>(std::remove(other.c_str()));
  }
}

void write_results(const run_options& how, const run_result& what) {
  if (!how.report.empty()) write_file(how.report, report_of(what));
  if (how.textfile.empty()) return;
  write_file(how.textfile, metrics_of(what, how.textfile, std::chrono::system_clock::now()));
}

void run_voice::operator()(bool always, const std::string& what) const {
  if (always || verbose) std::cerr << "latchkey: " << what << '\n';
}

}  // namespace command
