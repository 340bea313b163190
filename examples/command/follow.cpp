// SPDX-License-Identifier: Apache-2.0
// leader --follow, and watch: a line for each change, until a signal ends it.
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <deque>
#include <mutex>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include <latchkey/error.hpp>
#include <latchkey/leader_view.hpp>
#include <latchkey/queue_snapshot.hpp>

#include "commands.hpp"
#include "descriptor.hpp"
#include "followed_queue.hpp"
#include "queue_changes.hpp"
#include "show.hpp"

namespace command {
namespace {

constexpr std::array ending{SIGINT, SIGTERM, SIGHUP};

sigset_t ending_signals() {
  sigset_t all;
  ::sigemptyset(&all);
  for (const int number : ending) ::sigaddset(&all, number);
  return all;
}

int valid(int number) {
  if (number < 0) throw std::system_error{errno, std::generic_category(), "no descriptor is left"};
  return number;
}

/// Sightings on their way from the event thread to this one.
template <class Sighting>
class mailbox {
 public:
  void put(Sighting what) {
    const std::lock_guard lock{guard_};
    all_.emplace_back(std::move(what), std::chrono::system_clock::now());
    const std::uint64_t one = 1;
    while (::write(bell_.number(), &one, sizeof one) < 0 && errno == EINTR) {
    }
  }
  std::deque<std::pair<Sighting, wall_time>> take() {
    const std::lock_guard lock{guard_};
    std::uint64_t count = 0;
    while (::read(bell_.number(), &count, sizeof count) < 0 && errno == EINTR) {
    }
    return std::exchange(all_, {});
  }
  int bell() const noexcept { return bell_.number(); }

 private:
  std::mutex guard_;
  std::deque<std::pair<Sighting, wall_time>> all_;
  const descriptor bell_{valid(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK))};
};

/// Prints what `print` makes of each sighting, its time, and whether it is the newest: until a signal comes, or the
/// output has no reader any more.
template <class Sighting, class Print>
exit_code follow(const context& with, mailbox<Sighting>& seen, Print print) {
  constexpr int look_at_client_every = 1000;  // ms
  const auto blocked = ending_signals();
  const descriptor signals{valid(::signalfd(-1, &blocked, SFD_CLOEXEC))};
  // The last one is there to tell that nobody reads any more.
  std::array<pollfd, 3> all{{{seen.bell(), POLLIN, 0}, {signals.number(), POLLIN, 0}, {STDOUT_FILENO, 0, 0}}};
  while (true) {
    const int ready = ::poll(all.data(), all.size(), look_at_client_every);
    if (ready < 0 && errno != EINTR) throw std::system_error{errno, std::generic_category(), "poll failed"};
    for (auto news = seen.take(); !news.empty(); news.pop_front())
      with.out << print(news.front().first, news.front().second, news.size() == 1) << std::flush;
    if (!with.out) return exit_code::failed;
    if (ready > 0 && all[1].revents != 0) return exit_code::yes;
    if (ready > 0 && all[2].revents != 0) return exit_code::yes;
    static_cast<void>(
        with.client.wait_for_connection(std::chrono::nanoseconds::zero()));  // throws if it has failed for good
  }
}

/// What becomes of a queue, in lines.
class watched_queue {
 public:
  /// Reads the queue. @throws latchkey::error
  watched_queue(const context& with, const watch_options& how) : with_{with}, how_{how}, semaphore_{how.semaphore} {
    const auto all = read(with.time.left());
    semaphore_ =
        semaphore_ || std::any_of(all.begin(), all.end(), [](const auto& each) { return is_of_semaphore(each.node); });
  }

  bool is_semaphore() const noexcept { return semaphore_; }

  /// Reads nothing for a sighting that is not the newest: a busy queue changes faster than it can be read.
  std::string lines(latchkey::queue_sighting seen, wall_time when, bool newest) try {
    if (!seen.known) return line_of_unknown(when);
    if (semaphore_) {
      if (!newest) return "";
      seen.places = read(with_.time.again().left());  // names do not tell a permit from a lease that waits for one
    } else if (newest && changes_.has_strangers(seen, how_.most)) {
      read(with_.time.again().left());
    }
    std::string all;
    for (const auto& each : changes_.next(seen, when))
      all += with_.json ? json_of(how_.path, each, when) : text_of(each, when);
    return all;
  } catch (const latchkey::error& failed) {
    if (failed.code() != latchkey::errc::unreachable) throw;
    return line_of_unknown(when);
  }

 private:
  std::vector<latchkey::queue_place> read(std::chrono::nanoseconds timeout) {
    const latchkey::queue_snapshot queue{with_.client, how_.path, timeout, how_.most};
    changes_.learn(queue);
    std::vector<latchkey::queue_place> places;
    for (const auto& each : queue.contenders()) places.push_back({each.node, each.what, each.holds});
    return places;
  }
  std::string line_of_unknown(wall_time when) const {
    return with_.json ? json_of_not_known(how_.path, when) : text_of_not_known(when);
  }

  const context& with_;
  const watch_options& how_;
  queue_changes changes_;
  bool semaphore_;
};

}  // namespace

void block_ending_signals() {
  const auto blocked = ending_signals();
  ::pthread_sigmask(SIG_BLOCK, &blocked, nullptr);
}

bool ending_signal_is_pending() {
  sigset_t pending;
  ::sigpending(&pending);
  return std::any_of(ending.begin(), ending.end(), [&](int each) { return ::sigismember(&pending, each) == 1; });
}

exit_code follow_leader(const context& with, const std::string& path) {
  mailbox<latchkey::leader_sighting> seen;
  const latchkey::leader_view view{with.client, path, [&](const auto& what) { seen.put(what); }};
  return follow(with, seen, [&](const auto& what, wall_time when, bool) {
    return with.json ? json_of(path, what) : text_of_change(what, when);
  });
}

exit_code watch(const context& with, const watch_options& how) {
  mailbox<latchkey::queue_sighting> seen;
  watched_queue queue{with, how};
  const followed_queue view{with.client, how.path, queue.is_semaphore(), [&](const auto& what) { seen.put(what); }};
  return follow(with, seen,
                [&](const auto& what, wall_time when, bool newest) { return queue.lines(what, when, newest); });
}

}  // namespace command
