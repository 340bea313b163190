// SPDX-License-Identifier: Apache-2.0
// A command that does not want to end: it and a grandchild in a session of its own ignore SIGTERM, and write
// "<token> <nanoseconds of CLOCK_BOOTTIME>" to a file, a line every 100 us.

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <ctime>

int main(int argc, char** argv) {
  const auto* const token = std::getenv("LATCHKEY_FENCE");
  if (argc != 2 || token == nullptr) return 2;
  const int file = ::open(argv[1], O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
  if (file < 0) return 2;
  std::signal(SIGTERM, SIG_IGN);
  if (const auto child = ::fork(); child == 0) {
    ::setsid();
    if (::fork() != 0) ::_exit(0);  // its parent is gone
  } else {
    ::waitpid(child, nullptr, 0);  // so no line is written before the grandchild is there, in its own session
  }
  for (;;) {
    timespec now{};
    ::clock_gettime(CLOCK_BOOTTIME, &now);
    std::array<char, 128> line{};
    const int size =
        std::snprintf(line.data(), line.size(), "%s %lld\n", token, now.tv_sec * 1'000'000'000LL + now.tv_nsec);
    if (::write(file, line.data(), static_cast<std::size_t>(size)) != size) return 1;
    const timespec pause{0, 100'000};
    ::nanosleep(&pause, nullptr);
  }
}
