// SPDX-License-Identifier: Apache-2.0
#include "cgroup.hpp"

#include <fcntl.h>
#include <linux/sched.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <optional>
#include <sstream>
#include <string_view>
#include <system_error>
#include <thread>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "tree.hpp"

namespace command {
namespace {

using namespace std::chrono_literals;

/// A process, by its number and the time of its start, since numbers are used again. In another namespace for processes
/// the numbers mean others.
struct identity {
  unsigned long names = 0;
  pid_t number = 0;
  unsigned long long start = 0;
};

constexpr std::string_view name_begins = "latchkey-run.";

unsigned long namespace_of_processes() {
  struct stat found {};
  return ::stat("/proc/self/ns/pid", &found) == 0 ? found.st_ino : 0;
}

std::string name_of(const identity& who) {
  return fmt::format("{}{}.{}.{}", name_begins, who.names, who.number, who.start);
}

std::optional<identity> parse(const std::string& name) {
  if (!name.starts_with(name_begins)) return std::nullopt;
  std::istringstream text{name.substr(name_begins.size())};
  identity who;
  char dot = 0;
  char other = 0;
  if (!(text >> who.names >> dot >> who.number >> other >> who.start)) return std::nullopt;
  return name_of(who) == name ? std::optional{who} : std::nullopt;
}

/// One that cannot be read may well live.
bool lives(const identity& who) {
  if (has_ended(who.number)) return false;
  const auto start = start_of(who.number);
  return !start || *start == who.start;
}

/// Where the groups of version 2 are mounted, and which part of them.
struct hierarchy {
  std::string root;
  std::string folder;
};

hierarchy find_hierarchy() {
  std::ifstream file{"/proc/self/mountinfo"};
  for (std::string line; std::getline(file, line);) {
    if (line.find(" - cgroup2 ") == line.npos) continue;
    std::istringstream text{line};
    std::string skipped;
    hierarchy found;
    if (text >> skipped >> skipped >> skipped >> found.root >> found.folder) return found;
  }
  throw no_cgroup{"no control groups of version 2 are mounted"};
}

/// @returns the folder of the group of this process.
std::string group_of_this_process(const hierarchy& where) {
  std::ifstream file{"/proc/self/cgroup"};
  for (std::string line; std::getline(file, line);) {
    if (!line.starts_with("0::")) continue;
    const auto path = line.substr(3);
    const auto root = where.root == "/" ? std::string{} : where.root;
    if (path.starts_with("/..") || !(path + '/').starts_with(root + '/')) break;
    const auto below = path.substr(root.size());
    return below == "/" ? where.folder : where.folder + below;
  }
  throw no_cgroup{"the control group of this process is not among those that are mounted"};
}

/// @param killer the file cgroup.kill of a group
void kill_by(const descriptor& killer) noexcept { static_cast<void>(!::write(killer.number(), "1", 1)); }

/// Calls `take` with each folder in that one. What vanishes meanwhile is left out.
template <class Callable>
void for_each_folder(const std::filesystem::path& in, Callable take) {
  std::error_code gone;
  const std::filesystem::directory_iterator end;
  for (std::filesystem::directory_iterator each{in, gone}; !gone && each != end; each.increment(gone)) {
    std::error_code no_folder;
    if (each->is_directory(no_folder)) take(each->path());
  }
}

/// The deepest first.
void remove_below(const std::filesystem::path& folder) {
  for_each_folder(folder, remove_below);
  ::rmdir(folder.c_str());
}

bool is_without_processes(const std::filesystem::path& folder) {
  std::ifstream file{folder / "cgroup.events"};
  std::string word;
  int value = 0;
  while (file >> word >> value) {
    if (word == "populated") return value == 0;
  }
  return true;  // it is gone
}

using folders = std::vector<std::filesystem::path>;

bool is_mine(const std::filesystem::path& group) {
  struct stat found {};
  return ::stat(group.c_str(), &found) == 0 && found.st_uid == ::geteuid();
}

/// An extended attribute with the paths of the locks, a line each: no path has a line feed.
constexpr const char* paths_of_run = "user.latchkey.paths";

bool is_under_one_of(const std::vector<std::string>& paths, const std::filesystem::path& group) {
  std::string text(std::size_t{64} * 1024, '\0');
  const auto size = ::getxattr(group.c_str(), paths_of_run, text.data(), text.size());
  text.resize(static_cast<std::size_t>(std::max<ssize_t>(size, 0)));
  std::istringstream lines{text};
  for (std::string line; std::getline(lines, line);) {
    if (std::find(paths.begin(), paths.end(), line) != paths.end()) return true;
  }
  return false;
}

/// Takes in those below that folder whose runs have gone, and that are not of another user. Empty ones of any lock.
void find_left_groups(const std::filesystem::path& below, unsigned long names, const std::vector<std::string>& paths,
                      left_groups which, folders& found) {
  for_each_folder(below, [&](const std::filesystem::path& each) {
    const auto who = parse(each.filename());
    const bool empty = who && is_without_processes(each);
    if (empty && which == left_groups::with_processes) return;
    const bool is_left = who && who->names == names && !lives(*who) && is_mine(each);
    if (is_left && (empty || is_under_one_of(paths, each))) found.push_back(each);
    find_left_groups(each, names, paths, which, found);
  });
}

folders find_left_groups(const std::vector<std::string>& paths, left_groups which) try {
  folders found;
  find_left_groups(find_hierarchy().folder, namespace_of_processes(), paths, which, found);
  return found;
} catch (const no_cgroup&) {
  return {};
}

void kill_all_in(const std::filesystem::path& group) {
  const descriptor killer{::open((group / "cgroup.kill").c_str(), O_WRONLY | O_CLOEXEC)};
  if (killer.number() >= 0) kill_by(killer);
}

}  // namespace

cgroup::cgroup(const std::vector<std::string>& paths) {
  const auto self = ::getpid();
  const auto start = start_of(self);
  if (!start) throw no_cgroup{"the processes of this host cannot be read in /proc"};
  const identity who{namespace_of_processes(), self, *start};
  const auto parent = group_of_this_process(find_hierarchy());
  name_ = fmt::format("{}/{}", parent, name_of(who));
  const auto fail = [this](const char* what, int why) {
    ::rmdir(name_.c_str());
    throw no_cgroup{fmt::format("{} {}: {}", what, name_, std::strerror(why))};
  };
  if (::mkdir(name_.c_str(), 0755) != 0) fail("cannot make the control group", errno);
  const auto text = fmt::format("{}", fmt::join(paths, "\n"));
  if (::setxattr(name_.c_str(), paths_of_run, text.data(), text.size(), 0) != 0)
    fail("cannot mark the control group", errno);
  folder_ = descriptor{::open(name_.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC)};
  if (folder_.number() < 0) fail("cannot use the control group", errno);
  killer_ = descriptor{::open((name_ + "/cgroup.kill").c_str(), O_WRONLY | O_CLOEXEC)};  // since Linux 5.14
  if (killer_.number() < 0) fail("cannot kill the control group", errno);
  const auto child = fork_into();
  if (child == 0) ::_exit(0);
  if (child < 0) fail("cannot start a process in the control group", errno);
  while (::waitpid(child, nullptr, 0) < 0 && errno == EINTR) {
  }
}

cgroup::~cgroup() { remove(); }

pid_t cgroup::fork_into() const noexcept {
  clone_args how{};
  how.flags = CLONE_INTO_CGROUP;
  how.exit_signal = SIGCHLD;
  how.cgroup = static_cast<std::uint64_t>(folder_.number());
  return static_cast<pid_t>(::syscall(SYS_clone3, &how, sizeof how));
}

void cgroup::kill() const noexcept { kill_by(killer_); }

void cgroup::remove() const noexcept try { remove_below(name_); } catch (...) {  // the next run finds it
}

std::vector<std::string> end_left_cgroups(const std::vector<std::string>& paths, left_groups which,
                                          std::chrono::milliseconds most) {
  constexpr auto pause = 1ms;
  const auto end = std::chrono::steady_clock::now() + most;
  auto left = find_left_groups(paths, which);
  while (!left.empty()) {
    for (const auto& each : left) kill_all_in(each);
    std::erase_if(left, [](const std::filesystem::path& each) {
      if (!is_without_processes(each)) return false;
      remove_below(each);
      return true;
    });
    if (left.empty() || std::chrono::steady_clock::now() >= end) break;
    std::this_thread::sleep_for(pause);
  }
  return {left.begin(), left.end()};
}

}  // namespace command
