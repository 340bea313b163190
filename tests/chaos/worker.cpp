// SPDX-License-Identifier: Apache-2.0
#include "worker.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <atomic>
#include <boost/fiber/fiber.hpp>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <thread>
#include <utility>
#include <vector>

#include <latchkey/log.hpp>

#include "contender.hpp"
#include "wall_clock.hpp"

namespace chaos {

namespace {

/// All that runs in the process, and when it has finished.
class worker {
 public:
  explicit worker(const worker_options& how)
      : how_{how}, pen_{how.folder / (how.name + ".events")}, client_{how.connect_string, client_options()} {
    tell(event_kind::opened, fmt::format("session timeout {} ms, {} turns, linger {} ms", how.session_timeout.count(),
                                         how.turns, how.linger.count()));
    for (int i = 0; i < how.threads; ++i) {
      threads_.emplace_back([this, i] { run_fibers(i); });
    }
  }

  void finish() { finish_ = true; }

  void close() {
    for (auto& thread : threads_) thread.join();
    client_.close();
    tell(event_kind::closed);
  }

 private:
  latchkey::client_options client_options() {
    latchkey::client_options options;
    options.session_timeout = how_.session_timeout;
    options.label = "latchkey chaos, " + how_.name;
    if (how_.peers) options.peers.emplace();
    options.session_file = session_file_of(how_.name.substr(0, how_.name.find('.')), how_.folder);
    options.report_waits_after = std::chrono::seconds{4};  // a server may lose transactions (HAZARDS S19)
    options.observer = [this](const latchkey::client_event& what) {
      tell(event_kind::note, fmt::format("{} {}{}", to_string(what.what), what.path,
                                         what.reason ? " " + std::string{to_string(*what.reason)} : ""));
    };
    return options;
  }

  /// Fibers with lock objects of their own: two objects of one client for one path exclude each other too.
  void run_fibers(int thread) {
    locks_under_test locks;
    for (const auto each : how_.families) {
      // Of some families every other object lingers.
      const bool sometimes = each == family::shared || each == family::keyed || each == family::semaphore;
      const bool lingers = each == family::linger || (sometimes && thread % 2 == 1);
      const auto direct = thread % 2 == 1 ? latchkey::hand_off::direct_then_sync : latchkey::hand_off::direct;
      locks.push_back(make_lock(each, client_, lock_path(static_cast<int>(locks.size())),
                                {how_.turns, lingers ? how_.linger : std::chrono::milliseconds{0},
                                 how_.peers ? direct : latchkey::hand_off::ensemble}));
    }
    std::vector<boost::fibers::fiber> fibers;
    for (int i = 0; i < how_.fibers; ++i) {
      const int number = thread * how_.fibers + i;
      fibers.emplace_back([&, number] {
        contender{fmt::format("{}/{}/{}", how_.name, thread, number), client_, locks, pen_, how_.session_timeout,
                  how_.seed + static_cast<std::uint64_t>(number)}
            .run(finish_);
      });
    }
    for (auto& fiber : fibers) fiber.join();
    if (++finished_ != how_.threads) return;
    std::puts("finished");
    std::fflush(stdout);
  }

  void tell(event_kind kind, std::string text = {}) {
    pen_.add({clock::now(), how_.name, kind, -1, access::exclusive, {}, 0, std::move(text)});
  }

  const worker_options how_;
  recorder pen_;
  latchkey::client client_;
  std::atomic<bool> finish_{false};
  std::atomic<int> finished_{0};
  std::vector<std::thread> threads_;
};

}  // namespace

std::string lock_path(int lock) { return fmt::format("/chaos/{}/lock", lock); }

std::string node_path(int lock, family of) { return lock_path(lock) + (of == family::semaphore ? "/leases" : ""); }

std::string session_file_of(const std::string& slot, const std::filesystem::path& folder) {
  return (slot.back() - '0') % 2 == 0 ? (folder / (slot + ".session")).string() : std::string{};
}

int run_worker(const worker_options& how) {
  if (how.log) {
    latchkey::set_log_sink([](latchkey::log_level level, std::string_view line) {
      fmt::print(stderr, "{} {}: {}\n", clock::now().time_since_epoch().count(), to_string(level), line);
    });
  }
  worker all{how};
  for (std::string line; std::getline(std::cin, line);) {
    if (line == "finish") all.finish();
    if (line.starts_with("clock "))
      shift_wall_clock(std::chrono::milliseconds{std::stoll(line.substr(line.find(' ')))});
    if (line != "close") continue;
    all.close();
    return EXIT_SUCCESS;
  }
  std::_Exit(EXIT_FAILURE);  // whoever started us is gone
}

}  // namespace chaos
