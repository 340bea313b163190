// SPDX-License-Identifier: Apache-2.0
// A tree that forks as fast as it can: chains in sessions of their own, each process of which makes the next and ends.
// Its arguments: a file, how many chains, how many processes of each. A chain that comes to its end makes the file.

#include <fcntl.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>

int main(int argc, char** argv) {
  if (argc != 4) return 2;
  std::signal(SIGTERM, SIG_IGN);
  std::signal(SIGCHLD, SIG_IGN);
  for (int chain = std::atoi(argv[2]); chain > 0; --chain) {
    if (::fork() != 0) continue;
    ::setsid();
    for (int left = std::atoi(argv[3]); left > 0; --left) {
      if (::fork() != 0) ::_exit(0);
    }
    ::_exit(::open(argv[1], O_WRONLY | O_CREAT | O_CLOEXEC, 0600) < 0 ? 1 : 0);
  }
  for (;;) ::pause();
}
