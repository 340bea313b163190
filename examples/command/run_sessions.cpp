// SPDX-License-Identifier: Apache-2.0
#include "run_sessions.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <optional>
#include <string_view>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <latchkey/session_file.hpp>
#include <latchkey/settings.hpp>

#include "descriptor.hpp"
#include "show.hpp"
#include "tree.hpp"

namespace command {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view before_number = "run-";
constexpr std::string_view of_session = ".session";
constexpr std::string_view of_tree = ".tree";

/// By then every session is over, whatever its timeout.
constexpr std::chrono::hours longest_session{25};

/// Of a tree whose runner has died: measured, 106 ms for one that forks faster than it is killed.
constexpr std::chrono::milliseconds for_killing{500};
constexpr std::chrono::milliseconds between_looks{2};

/// At the end of a run there is one only if no server has answered.
constexpr std::chrono::seconds at_the_end{1};

latchkey::client_options options_of(const settings& with) {
  latchkey::client_options options;
  if (!with.auth_file.empty()) options.authentication = latchkey::read_credentials(with.auth_file);
  options.tls = with.tls;
  return options;
}

std::optional<fs::path> default_folder() {
  const auto* const runtime = std::getenv("XDG_RUNTIME_DIR");
  const auto folder = fs::path{runtime != nullptr && *runtime == '/' ? runtime : "/run"} / "latchkey";
  if (::mkdir(folder.c_str(), 0700) != 0 && errno != EEXIST) return std::nullopt;
  if (::access(folder.c_str(), W_OK | X_OK) != 0) return std::nullopt;
  return folder;
}

std::optional<fs::path> folder_of(const std::string& given) {
  if (given == "none") return std::nullopt;
  return given.empty() ? default_folder() : fs::path{given};
}

/// A run that has left its two files, if no process of it is left.
struct left_run {
  fs::path session;
  fs::path tree;
  descriptor lock{-1};

  void remove() const {
    ::unlink(session.c_str());
    ::unlink(tree.c_str());
  }
};

std::string text_of_file(int number) {
  std::string text(64 * 1024, '\0');
  const auto size = ::pread(number, text.data(), text.size(), 0);
  text.resize(static_cast<std::size_t>(std::max<ssize_t>(size, 0)));
  return text;
}

/// A path has no control characters.
bool names_one_of(const std::string& text, const std::vector<std::string>& paths) {
  return std::any_of(paths.begin(), paths.end(), [&](const std::string& each) {
    return ('\n' + text).find('\n' + each + '\n') != std::string::npos;
  });
}

/// @returns the process that has made these files, which is in their name.
pid_t runner_of(const left_run& one) {
  return std::atoi(one.tree.stem().string().substr(before_number.size()).c_str());
}

/// @param patience while its guard may still be killing what the run has left
bool is_over(const left_run& one, std::chrono::milliseconds patience) {
  const auto end = std::chrono::steady_clock::now() + patience;
  while (::flock(one.lock.number(), LOCK_EX | LOCK_NB) != 0) {
    if (!has_ended(runner_of(one)) || std::chrono::steady_clock::now() > end) return false;
    std::this_thread::sleep_for(between_looks);
  }
  return true;
}

std::vector<left_run> left_runs(const fs::path& folder, const std::vector<std::string>& paths) {
  std::vector<left_run> all;
  std::error_code ignored;
  for (const auto& each : fs::directory_iterator{folder, ignored}) {
    if (each.path().extension() != of_tree) continue;
    left_run one{fs::path{each.path()}.replace_extension(of_session), each.path(),
                 descriptor{::open(each.path().c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)}};
    struct stat file {};
    if (one.lock.number() < 0 || ::fstat(one.lock.number(), &file) != 0 || file.st_uid != ::geteuid()) continue;
    const bool is_ours = names_one_of(text_of_file(one.lock.number()), paths);
    if (!is_over(one, is_ours ? for_killing : std::chrono::milliseconds{0})) continue;
    const auto age = std::chrono::system_clock::now() - std::chrono::system_clock::from_time_t(file.st_mtime);
    if (age > longest_session) {
      one.remove();
    } else if (is_ours) {
      all.push_back(std::move(one));
    }
  }
  return all;
}

void end(const left_run& one, const settings& with) try {
  if (fs::exists(one.session)) {
    const auto left = latchkey::end_left_sessions(one.session.string(), options_of(with), with.timeout);
    if (with.verbose && left.ended != 0)
      std::cerr << fmt::format("latchkey: the session of a run that has died was ended: process {}\n", left.pid);
  }
  one.remove();
} catch (const latchkey::error& failed) {  // it ends by itself
  if (with.verbose) std::cerr << "latchkey: " << printable_sentence(text_of(failed)) << '\n';
}

}  // namespace

run_session::run_session(const std::string& folder, const std::vector<std::string>& paths, const settings& with)
    : with_{with} {
  const auto name = (fs::path{folder} / fmt::format("{}{}", before_number, ::getpid())).string();
  session_ = name + std::string{of_session};
  tree_ = name + std::string{of_tree};
  const auto unfinished = name + ".new";
  ::unlink(unfinished.c_str());  // of a process that had this number
  // All processes of the run inherit it.
  lock_ = descriptor{::open(unfinished.c_str(), O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW, 0600)};
  const auto text = fmt::format("{}\n", fmt::join(paths, "\n"));
  if (lock_.number() < 0 || ::flock(lock_.number(), LOCK_EX | LOCK_NB) != 0 ||
      ::write(lock_.number(), text.data(), text.size()) != static_cast<ssize_t>(text.size()) ||
      ::rename(unfinished.c_str(), tree_.c_str()) != 0) {
    const auto why = failure("cannot be used");
    ::unlink(unfinished.c_str());
    throw why;
  }
  ::unlink(session_.c_str());
  const descriptor made{::open(session_.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600)};
}

std::unique_ptr<run_session> run_session::make(const std::string& given, const std::vector<std::string>& paths,
                                               const settings& with) try {
  const auto folder = folder_of(given);
  if (!folder) return nullptr;
  std::unique_ptr<run_session> made{new run_session{folder->string(), paths, with}};
  static_cast<void>(latchkey::end_left_sessions(made->file()));  // nothing is in it: whether it may be used
  return made;
} catch (const std::system_error& unusable) {
  if (!given.empty()) throw usage_error{fmt::format("--session-file {}: {}", printable(given), unusable.what())};
  if (with.verbose) std::cerr << "latchkey: no session file: " << printable_sentence(unusable.what()) << '\n';
  return nullptr;
}

run_session::~run_session() {
  try {
    latchkey::end_left_sessions(session_, options_of(with_), at_the_end);
  } catch (const latchkey::error& failed) {
    if (errc_of(failed) == latchkey::errc::unreachable) return;  // the next run ends it
  } catch (const std::exception&) {
  }
  left_run{session_, tree_}.remove();
}

void end_left_run_sessions(const std::string& given, const std::vector<std::string>& paths, const settings& with) {
  const auto folder = folder_of(given);
  const auto left = folder ? left_runs(*folder, paths) : std::vector<left_run>{};
  if (left.empty()) return;
  const auto parent = ::getpid();
  const auto child = ::fork();  // its threads are no concern of what is forked later
  if (child < 0) return;
  if (child == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() == parent) {
      for (const auto& each : left) end(each, with);
    }
    ::_exit(0);
  }
  while (::waitpid(child, nullptr, 0) < 0 && errno == EINTR) {
  }
}

exit_code release(const settings& with, const std::string& file, std::ostream& out, bool json) {
  const auto left = latchkey::end_left_sessions(file, options_of(with), with.timeout);
  if (json) {
    out << fmt::format("{{\"ended\": {}, \"expired\": {}, \"pid\": {}}}\n", left.ended, left.expired, left.pid);
  } else if (left.ended != 0) {
    out << fmt::format("the session of process {} was ended; its locks are free\n", left.pid);
  } else if (left.expired != 0) {
    out << fmt::format("the session of process {} was over already\n", left.pid);
  } else {
    out << "no session is left\n";
  }
  return exit_code::yes;
}

}  // namespace command
