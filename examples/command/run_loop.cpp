// SPDX-License-Identifier: Apache-2.0
#include "run_loop.hpp"

#include <poll.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstdint>

#include "signals.hpp"

namespace command {

void run_loop::await(time_point until, const std::function<void(const packet&)>& hear) {
  std::array<pollfd, 3> all{pollfd{signals_.number(), POLLIN, 0}, pollfd{waker_.number(), POLLIN, 0},
                            pollfd{hears_guard() ? tree_.channel() : -1, POLLIN, 0}};
  int most = -1;
  if (until != end_of_time) {
    const auto wait = std::chrono::ceil<std::chrono::milliseconds>(until - boottime_clock::now()).count();
    most = static_cast<int>(std::clamp<std::int64_t>(wait, 0, 1'000'000));
  }
  if (::poll(all.data(), all.size(), most) < 0 && errno != EINTR) throw failure("poll");
  waker_.clear();
  signalfd_siginfo news{};
  while (::read(signals_.number(), &news, sizeof news) > 0) {
    // One that asks to end goes before one that does not.
    if (signal_ == 0 || !asks_to_end(signal_)) signal_ = static_cast<int>(news.ssi_signo);
  }
  while (hears_guard() && ::poll(&all[2], 1, 0) == 1) {
    const auto said = tree_.hear();
    guard_gone_ = !said;
    empty_ = said && said->what == word::empty;
    if (said) hear(*said);
  }
}

}  // namespace command
