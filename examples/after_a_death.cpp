// SPDX-License-Identifier: Apache-2.0
// A job that is killed in the midst of its work, and the next one, which is told of that and puts it in order.

#include <latchkey/robust_mutex.hpp>

#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <string>

#include "with_connect_string.hpp"

namespace {

struct job {
  std::string connect_string;
  std::string session_file;  // so that the lock is free at once, and not after the session timeout
  std::string accounts;      // what the lock protects: two lines whose sum is 100

  /// Moves money from the one account to the other.
  int run(bool is_killed) const {
    latchkey::client_options options;
    options.session_file = session_file;
    options.label = "transfer";
    latchkey::client client{connect_string, options};
    latchkey::robust_mutex lock{client, "/locks/after-a-death"};
    const auto held = lock.acquire();
    if (const auto dead = lock.abandoned()) {
      std::cout << "process " << dead->pid << " has died with token " << to_string(dead->fence) << ": checking its work"
                << std::endl;
      put_in_order();
      lock.recovered();
    }
    write(40, 50);                       // taken from the one,
    if (is_killed) std::raise(SIGKILL);  // and not yet given to the other
    write(40, 60);
    return 0;
  }

  void put_in_order() const {
    std::ifstream file{accounts};
    int one = 0;
    int other = 0;
    file >> one >> other;
    if (one + other != 100) write(one, 100 - one);
  }
  void write(int one, int other) const { std::ofstream{accounts} << one << '\n' << other << '\n'; }

  /// In a process of its own. @returns how it has ended.
  int start(bool is_killed) const {
    const auto process = ::fork();
    if (process == 0) ::_exit(run(is_killed));
    int status = 0;
    ::waitpid(process, &status, 0);
    return status;
  }
};

bool example(const std::string& connect_string) {
  const auto folder = std::filesystem::temp_directory_path() / ("latchkey-death-" + std::to_string(::getpid()));
  std::filesystem::create_directory(folder);
  const job transfer{connect_string, folder / "session", folder / "accounts"};
  const auto killed = transfer.start(true);
  const auto ended = transfer.start(false);
  std::filesystem::remove_all(folder);
  return WIFSIGNALED(killed) && WIFEXITED(ended) && WEXITSTATUS(ended) == 0;
}

}  // namespace

int main(int argc, char** argv) { return with_connect_string(argc, argv, example); }
