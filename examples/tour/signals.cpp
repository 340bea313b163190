// SPDX-License-Identifier: Apache-2.0
#include "signals.hpp"

#include <pthread.h>

#include <cstdlib>
#include <ctime>
#include <iostream>

namespace tour {

namespace {}  // namespace

signals::signals() {
  ::sigemptyset(&ending_);
  for (const int number : {SIGINT, SIGTERM, SIGHUP}) ::sigaddset(&ending_, number);
  ::pthread_sigmask(SIG_BLOCK, &ending_, nullptr);
  thread_ = std::jthread{[this](const std::stop_token& end) { wait(end); }};
}

void signals::wait(const std::stop_token& end) {
  const timespec moment{.tv_sec = 0, .tv_nsec = 100'000'000};
  while (!end.stop_requested()) {
    if (::sigtimedwait(&ending_, nullptr, &moment) < 0) continue;
    if (stop_.stop_requested()) std::_Exit(interrupted);
    std::cerr << "\ntour: stopping; once more to end at once" << std::endl;
    stop_.request_stop();
  }
}

}  // namespace tour
