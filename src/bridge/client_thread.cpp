// SPDX-License-Identifier: Apache-2.0
#include "bridge/client_thread.hpp"

#include <poll.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <system_error>

#include "bridge/blocked_signals.hpp"

namespace latchkey::detail {

client_thread::client_thread(std::shared_ptr<monitor> timers, udp_port* port)
    : timers_{std::move(timers)},
      port_{port},
      // With a port it is polled: another thread may have set it anew since, and a `read` would wait for that.
      fd_{::timerfd_create(CLOCK_BOOTTIME, port ? TFD_CLOEXEC | TFD_NONBLOCK : TFD_CLOEXEC)} {
  if (fd_ < 0) {
    throw std::system_error{errno, std::generic_category(),
                            "no timer could be created (timerfd_create); raise the limit of open files"};
  }
  timers_->when_earlier([this](time_point time) { wake_at(time); });
  const blocked_signals none;
  thread_ = std::thread{[this] { run(); }};
}

client_thread::~client_thread() {
  stop();
  timers_->when_earlier({});
  ::close(fd_);
}

void client_thread::stop() {
  if (!thread_.joinable()) return;
  // Under the monitor, as every arming is: the thread cannot put it off again.
  timers_->run([this] {
    stopping_ = true;
    wake_at(time_point{});
  });
  thread_.join();
}

void client_thread::run() {
  while (!stopping_) {
    timers_->run_due();  // arms the timerfd for the next
    sleep();
  }
}

void client_thread::sleep() {
  if (port_ != nullptr) {
    std::array<pollfd, 2> ready{pollfd{fd_, POLLIN, 0}, pollfd{port_->descriptor(), POLLIN, 0}};
    while (::poll(ready.data(), ready.size(), -1) < 0 && errno == EINTR) {
    }
    if (ready[1].revents != 0) timers_->run([this] { port_->receive(); });
    if (ready[0].revents == 0) return;
  }
  std::uint64_t expirations = 0;
  while (::read(fd_, &expirations, sizeof expirations) < 0 && errno == EINTR) {
  }
}

void client_thread::wake_at(time_point time) noexcept {
  using namespace std::chrono;
  if (stopping_) time = {};
  const auto since_boot = std::max<nanoseconds>(time.time_since_epoch(), 1ns);  // zero would disarm it
  const auto whole = duration_cast<seconds>(since_boot);
  itimerspec when{};
  when.it_value = {whole.count(), (since_boot - whole).count()};
  ::timerfd_settime(fd_, TFD_TIMER_ABSTIME, &when, nullptr);
}

}  // namespace latchkey::detail
