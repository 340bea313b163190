// SPDX-License-Identifier: Apache-2.0
#include "tree.hpp"

#include <dirent.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <optional>
#include <sstream>

namespace command {
namespace {

struct close_folder {
  void operator()(DIR* open) const noexcept { ::closedir(open); }
};

/// Calls `take` with each number that is a name in the folder.
template <class Callable>
void for_each_number(const std::string& folder, Callable take) {
  const std::unique_ptr<DIR, close_folder> open{::opendir(folder.c_str())};
  if (!open) return;
  while (const auto* const entry = ::readdir(open.get())) {
    char* end = nullptr;
    const auto number = std::strtol(entry->d_name, &end, 10);
    if (number > 0 && *end == '\0') take(static_cast<pid_t>(number));
  }
}

struct status {
  std::string name;
  char state = 0;
  pid_t parent = 0;
  unsigned long long start = 0;
};

/// The name is in parentheses, and may have any characters. See proc(5): the start is the 22nd field.
std::optional<status> status_of(pid_t which) {
  std::ifstream file{"/proc/" + std::to_string(which) + "/stat"};
  std::string text;
  std::getline(file, text, '\0');  // the whole; it may vanish meanwhile, and then nothing is read
  const auto first = text.find('(');
  const auto last = text.rfind(')');
  if (first == text.npos || last == text.npos) return std::nullopt;
  status found{.name = text.substr(first + 1, last - first - 1)};
  std::istringstream rest{text.substr(last + 1)};
  rest >> found.state >> found.parent;
  std::string skipped;
  for (int field = 5; field < 22; ++field) rest >> skipped;
  rest >> found.start;
  return rest ? std::optional{found} : std::nullopt;
}

/// Where the kernel does not list the children of a thread.
std::vector<pid_t> children_by_parents(pid_t parent) {
  std::vector<pid_t> found;
  for_each_number("/proc", [&](pid_t each) {
    const auto of = status_of(each);
    if (of && of->parent == parent) found.push_back(each);
  });
  return found;
}

std::vector<pid_t> children_of(pid_t parent) {
  const auto tasks = "/proc/" + std::to_string(parent) + "/task";
  std::vector<pid_t> found;
  bool listed = false;
  for_each_number(tasks, [&](pid_t thread) {
    std::ifstream file{tasks + "/" + std::to_string(thread) + "/children"};
    listed = listed || file.is_open();
    for (pid_t child = 0; file >> child;) found.push_back(child);
  });
  return listed ? found : children_by_parents(parent);
}

/// Calls `at` with each, before its children are looked for.
void walk(pid_t root, const std::function<void(pid_t)>& at) {
  std::vector<pid_t> open{root};
  while (!open.empty()) {
    const auto next = open.back();
    open.pop_back();
    for (const auto child : children_of(next)) {
      at(child);
      open.push_back(child);
    }
  }
}

}  // namespace

std::vector<process> processes_below_me() {
  std::vector<process> found;
  walk(::getpid(), [&](pid_t each) {
    const auto of = status_of(each);
    if (of && of->state != 'Z' && of->state != 'X') found.push_back({each, of->name});
  });
  return found;
}

std::optional<unsigned long long> start_of(pid_t which) {
  const auto found = status_of(which);
  return found ? std::optional{found->start} : std::nullopt;
}

bool has_ended(pid_t which) {
  if (const auto found = status_of(which)) return found->state == 'X' || found->state == 'Z';
  return ::kill(which, 0) != 0 && errno == ESRCH;
}

void signal_below_me(int signal) {
  walk(::getpid(), [signal](pid_t each) { ::kill(each, signal); });
}

void kill_below_me() {
  std::vector<pid_t> found;
  walk(::getpid(), [&](pid_t each) {
    ::kill(each, SIGSTOP);
    found.push_back(each);
  });
  for (const auto each : found) ::kill(each, SIGKILL);
}

bool reap(const std::function<void(pid_t, int)>& ended) {
  for (;;) {
    int status = 0;
    const auto which = ::waitpid(-1, &status, WNOHANG | __WALL);
    if (which > 0) {
      ended(which, status);
    } else if (which == 0 || errno != EINTR) {
      return which < 0;
    }
  }
}

}  // namespace command
