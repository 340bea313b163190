// SPDX-License-Identifier: Apache-2.0
// The floor: the workloads on the C client alone.

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <deque>
#include <exception>
#include <future>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "contestant.hpp"
#include "floor_contender.hpp"
#include "floor_session.hpp"

namespace {

using namespace bench;
using clock = bench::clock;

/// The sessions of each route, kept for the next run.
class floor_sessions {
 public:
  floor_session& at(const route& to, std::size_t index) {
    auto& all = sessions_[to.name];
    while (all.size() <= index) all.push_back(std::make_unique<floor_session>(to.host(all.size())));
    return *all[index];
  }

 private:
  std::map<std::string, std::deque<std::unique_ptr<floor_session>>> sessions_;
};

floor_sessions sessions;

/// Hands over the events of a mailbox until `done`.
template <class Done>
void run_until(floor_mailbox& mailbox, floor_session& session, Done done) {
  while (!done()) {
    const auto& events = mailbox.wait();
    for (const auto& event : events) event.to->on(event);
    if (events.empty()) session.nudge();
  }
}

/// The contenders of one thread: each locks and unlocks until the end, and once after it.
double cycle(floor_session& session, const std::vector<std::string>& paths, clock::time_point end) {
  floor_mailbox mailbox;
  std::deque<floor_contender> contenders;
  double count = 0;
  std::size_t running = paths.size();
  for (std::size_t i = 0; i < paths.size(); ++i) {
    contenders.emplace_back(session, mailbox, paths[i], [&, i] {
      const bool over = clock::now() >= end;
      contenders[i].unlock();
      if (over) {
        --running;
        return;
      }
      ++count;
      contenders[i].lock();
    });
  }
  for (auto& contender : contenders) contender.lock();
  run_until(mailbox, session, [&] { return running == 0; });
  return count;
}

clock::time_point after(double seconds) {
  return clock::now() + std::chrono::duration_cast<clock::duration>(std::chrono::duration<double>{seconds});
}

figures uncontended(const route& to, double seconds) {
  auto& session = sessions.at(to, 0);
  session.create_all("/bench/floor/uncontended");
  return rate_of(cycle(session, {"/bench/floor/uncontended"}, after(seconds)), seconds, 1);
}

/// Three calls, one after another: lock (create and list in one round trip), write, release.
figures locked_write(const route& to, double seconds) {
  auto& session = sessions.at(to, 0);
  const std::string lock = "/bench/floor/locked_write";
  const std::string path = "/bench/floor/data";
  session.create_all(lock);
  session.create_all(path);
  const std::string data(100, 'x');
  double count = 0;
  const auto start = clock::now();
  while (seconds_since(start) < seconds) {
    std::promise<std::string> made;
    expect_ok(
        ::zoo_acreate(
            session.handle(), (lock + "/lock-").c_str(), nullptr, -1, &ZOO_OPEN_ACL_UNSAFE, ZOO_EPHEMERAL_SEQUENTIAL,
            [](int code, const char* name, const void* to_tell) {
              auto& told = *static_cast<std::promise<std::string>*>(const_cast<void*>(to_tell));
              told.set_value(code == ZOK ? name : "");
            },
            &made),
        "acreate");
    String_vector names{};
    expect_ok(::zoo_get_children(session.handle(), lock.c_str(), 0, &names), "get_children");
    const auto mine = made.get_future().get();
    if (names.count != 1 || mine.empty()) throw std::runtime_error{"the lock is not free"};
    ::deallocate_String_vector(&names);
    expect_ok(::zoo_set(session.handle(), path.c_str(), data.data(), static_cast<int>(data.size()), -1), "set");
    expect_ok(::zoo_delete(session.handle(), mine.c_str(), -1), "delete");
    ++count;
  }
  return rate_of(count, seconds_since(start), 1);
}

figures in_sessions(const route& to, double seconds, std::size_t contenders) {
  const auto path = "/bench/floor/sessions_" + std::to_string(contenders);
  sessions.at(to, 0).create_all(path);
  for (std::size_t i = 0; i < contenders; ++i) sessions.at(to, i);
  std::vector<double> counts(contenders);
  std::vector<std::exception_ptr> failures(contenders);
  std::vector<std::thread> threads;
  const auto end = after(seconds);
  for (std::size_t i = 0; i < contenders; ++i) {
    threads.emplace_back([&, i] {
      try {
        counts[i] = cycle(sessions.at(to, i), {path}, end);
      } catch (...) {
        failures[i] = std::current_exception();
      }
    });
  }
  for (auto& thread : threads) thread.join();
  double sum = 0;
  for (std::size_t i = 0; i < contenders; ++i) {
    if (failures[i]) std::rethrow_exception(failures[i]);
    sum += counts[i];
  }
  return rate_of(sum, seconds, static_cast<double>(contenders));
}

workload in_sessions(std::size_t contenders) {
  return [contenders](const route& to, double seconds) { return in_sessions(to, seconds, contenders); };
}

figures one_lock_64(const route& to, double seconds) {
  auto& session = sessions.at(to, 0);
  session.create_all("/bench/floor/one_lock_64");
  const std::vector<std::string> paths(64, "/bench/floor/one_lock_64");
  return rate_of(cycle(session, paths, after(seconds)), seconds, static_cast<double>(paths.size()));
}

figures own_locks_256(const route& to, double seconds) {
  auto& session = sessions.at(to, 0);
  std::vector<std::string> paths;
  for (int i = 0; i < 256; ++i) {
    paths.push_back(fmt::format("/bench/floor/own_locks_256/{:03}", i));
    session.create_all(paths.back());
  }
  return rate_of(cycle(session, paths, after(seconds)), seconds, static_cast<double>(paths.size()));
}

figures try_held(const route& to, double seconds) {
  const std::string path = "/bench/floor/try_held";
  auto& session = sessions.at(to, 0);
  session.create_all(path);
  floor_mailbox held;
  bool has_it = false;
  floor_contender holder{sessions.at(to, 1), held, path, [&] { has_it = true; }};
  holder.lock();
  run_until(held, sessions.at(to, 1), [&] { return has_it; });

  floor_mailbox mailbox;
  double count = 0;
  double free = 0;
  bool answered = true;
  floor_contender asker{session, mailbox, path, [&] {
                          answered = true;
                          ++(asker.ahead() > 0 ? count : free);
                        }};
  const auto end = after(seconds);
  while (clock::now() < end) {
    answered = false;
    asker.look();
    run_until(mailbox, session, [&] { return answered; });
  }
  holder.unlock();
  if (free > 1) throw std::runtime_error{"found the held lock free"};  // once: its server may not have heard yet
  return rate_of(count, seconds);
}

/// Microseconds from one grant to the next while `waiters` of one session drain.
double drain(floor_session& session, const std::string& path, std::size_t waiters) {
  floor_mailbox mailbox;
  bool has_it = false;
  floor_contender holder{session, mailbox, path, [&] { has_it = true; }};
  holder.lock();
  run_until(mailbox, session, [&] { return has_it; });
  std::deque<floor_contender> contenders;
  std::size_t granted = 0;
  clock::time_point first;
  for (std::size_t i = 0; i < waiters; ++i) {
    contenders.emplace_back(session, mailbox, path, [&, i] {
      if (granted++ == 0) first = clock::now();
      contenders[i].unlock();
    });
    contenders.back().lock();
  }
  run_until(mailbox, session, [&] { return std::ranges::all_of(contenders, &floor_contender::waiting); });
  holder.unlock();
  run_until(mailbox, session, [&] { return granted == waiters; });
  return seconds_since(first) * 1e6 / static_cast<double>(waiters - 1);
}

workload hand_off(std::size_t waiters) {
  return [waiters](const route& to, double seconds) {
    const auto path = fmt::format("/bench/floor/hand_off_{}", waiters);
    auto& session = sessions.at(to, 0);
    session.create_all(path);
    std::vector<double> passes;
    const auto start = clock::now();
    do {
      passes.push_back(drain(session, path, waiters));
    } while (seconds_since(start) < seconds);
    return figures{{"us_per_hand_off", median(passes)}, {"passes", static_cast<double>(passes.size())}};
  };
}

}  // namespace

int main(int argc, char** argv) {
  ::zoo_set_debug_level(static_cast<ZooLogLevel>(0));
  return serve({argv + 1, argv + argc}, {
                                            {"uncontended", uncontended},
                                            {"locked_write", locked_write},
                                            {"eight_sessions", in_sessions(8)},
                                            {"sessions_3", in_sessions(3)},
                                            {"sessions_20", in_sessions(20)},
                                            {"one_lock_64", one_lock_64},
                                            {"own_locks_256", own_locks_256},
                                            {"try_held", try_held},
                                            {"hand_off_10", hand_off(10)},
                                            {"hand_off_100", hand_off(100)},
                                            {"hand_off_1000", hand_off(1000)},
                                        });
}
