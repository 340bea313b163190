// SPDX-License-Identifier: Apache-2.0
// leader --follow: a line for each change, until a signal ends it.
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <deque>
#include <mutex>
#include <system_error>
#include <utility>

#include <latchkey/leader_view.hpp>

#include "commands.hpp"
#include "descriptor.hpp"
#include "show.hpp"

namespace command {
namespace {

sigset_t ending_signals() {
  sigset_t all;
  ::sigemptyset(&all);
  for (const int number : {SIGINT, SIGTERM, SIGHUP}) ::sigaddset(&all, number);
  return all;
}

int valid(int number) {
  if (number < 0) throw std::system_error{errno, std::generic_category(), "no descriptor is left"};
  return number;
}

/// Sightings on their way from the event thread to this one.
class mailbox {
 public:
  void put(latchkey::leader_sighting what) {
    const std::lock_guard lock{guard_};
    all_.emplace_back(std::move(what), std::chrono::system_clock::now());
    const std::uint64_t one = 1;
    while (::write(bell_.number(), &one, sizeof one) < 0 && errno == EINTR) {
    }
  }
  std::deque<std::pair<latchkey::leader_sighting, wall_time>> take() {
    const std::lock_guard lock{guard_};
    std::uint64_t count = 0;
    while (::read(bell_.number(), &count, sizeof count) < 0 && errno == EINTR) {
    }
    return std::exchange(all_, {});
  }
  int bell() const noexcept { return bell_.number(); }

 private:
  std::mutex guard_;
  std::deque<std::pair<latchkey::leader_sighting, wall_time>> all_;
  const descriptor bell_{valid(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK))};
};

}  // namespace

void block_ending_signals() {
  const auto ending = ending_signals();
  ::pthread_sigmask(SIG_BLOCK, &ending, nullptr);
}

exit_code follow_leader(const context& with, const std::string& path) {
  constexpr int look_at_client_every = 1000;  // ms
  const auto ending = ending_signals();
  const descriptor signals{valid(::signalfd(-1, &ending, SFD_CLOEXEC))};
  mailbox seen;
  const latchkey::leader_view view{with.client, path, [&](const latchkey::leader_sighting& what) { seen.put(what); }};
  // The last one is there to tell that nobody reads any more.
  std::array<pollfd, 3> all{{{seen.bell(), POLLIN, 0}, {signals.number(), POLLIN, 0}, {STDOUT_FILENO, 0, 0}}};
  while (true) {
    const int ready = ::poll(all.data(), all.size(), look_at_client_every);
    if (ready < 0 && errno != EINTR) throw std::system_error{errno, std::generic_category(), "poll failed"};
    for (const auto& [what, when] : seen.take())
      with.out << (with.json ? json_of(path, what) : text_of_change(what, when)) << std::flush;
    if (!with.out) return exit_code::failed;
    if (ready > 0 && all[1].revents != 0) return exit_code::yes;
    if (ready > 0 && all[2].revents != 0) return exit_code::yes;
    with.client.wait_for_connection(std::chrono::nanoseconds::zero());  // throws if it has failed for good
  }
}

}  // namespace command
