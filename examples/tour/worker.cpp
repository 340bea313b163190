// SPDX-License-Identifier: Apache-2.0
#include "worker.hpp"

#include <fmt/format.h>

#include <boost/fiber/fiber.hpp>
#include <boost/fiber/operations.hpp>
#include <cstdlib>
#include <exception>
#include <mutex>
#include <optional>
#include <random>
#include <stop_token>
#include <thread>
#include <vector>

#include <latchkey/log.hpp>
#include <latchkey/mutex.hpp>

#include "event.hpp"
#include "parent_link.hpp"
#include "reader_writer.hpp"

namespace tour {

using namespace std::chrono_literals;

namespace {

constexpr auto work_time = 200ms;
constexpr auto look_every = 10ms;  // how often a holder looks whether it still is one

/// One fiber.
class contender {
 public:
  contender(std::string name, const latchkey::client& client, latchkey::mutex& lock, parent_link& link)
      : name_{std::move(name)}, client_{client}, lock_{lock}, link_{link}, random_{std::random_device{}()} {}

  void run() {
    const auto stop = link_.stop_token();
    while (!stop.stop_requested()) {
      tell(event_kind::waits);
      if (!lock_.lock(stop)) return;
      {
        const std::lock_guard guard{lock_, std::adopt_lock};
        use(lock_.held());
      }
      boost::this_fiber::sleep_for(std::uniform_int_distribution{100, 400}(random_)*1ms);
    }
  }

 private:
  /// A look at the grant. @returns whether it is held, and if so was held at `when`, the time before the look.
  static bool held(const latchkey::grant& grant, clock::time_point& when) {
    const auto now = clock::now();
    if (!grant) return false;
    when = now;
    return true;
  }

  void use(const latchkey::grant& grant) {
    const auto token = grant.fence();
    const bool lingers = link_.take_linger();
    auto seen = clock::now();
    if (held(grant, seen)) tell(event_kind::granted, token, lingers ? ", and is not going to give it back soon" : "");

    const std::stop_callback told{grant.stop_token(), [&] { tell(event_kind::stop_requested, token); }};
    const bool taken = link_.write(token, name_);
    work(grant, seen, lingers);
    const bool still = held(grant, seen);
    link_.tell({.at = seen, .who = name_, .kind = event_kind::held_until, .token = token});
    if (still && !taken) return tell(event_kind::failed, token, "the store refused the write of the holder");
    if (still) return tell(event_kind::released, token);

    const auto why = grant.loss();
    tell(event_kind::lost, token, why ? std::string{to_string(*why)} : "without a reason");
    // The mistake that the token is for: a holder whose time is over does not know, or care, and writes.
    if (link_.wait_until_overtaken(token)) link_.write(token, name_);
  }

  /// Works for a while; `seen` moves on to the last time that the lock was seen held. Ends when it is lost.
  void work(const latchkey::grant& grant, clock::time_point& seen, bool lingers) const {
    const auto stop = link_.stop_token();
    const auto end = lingers ? clock::time_point::max() : clock::now() + work_time;
    while (held(grant, seen) && clock::now() < end && !stop.stop_requested()) grant.wait_for_end(look_every);
  }

  void tell(event_kind kind, std::optional<latchkey::fencing_token> token = {}, std::string text = {}) const {
    link_.tell({.who = name_, .kind = kind, .token = token, .session = client_.session_id(), .text = std::move(text)});
  }

  const std::string name_;
  const latchkey::client& client_;
  latchkey::mutex& lock_;
  parent_link& link_;
  std::minstd_rand random_;
};

/// The body of a fiber: an exception that left it would end the process without a word.
void run_fiber(const std::string& name, const latchkey::client& client, latchkey::mutex& lock, parent_link& link) {
  try {
    contender{name, client, lock, link}.run();
  } catch (const std::exception& failure) {
    link.tell({.who = name, .kind = event_kind::failed, .text = failure.what()});
  }
}

/// The fibers `first`, `first + step`, ... on this thread.
void run_fibers(int first, const worker_options& how, const latchkey::client& client, latchkey::mutex& lock,
                parent_link& link) {
  std::vector<boost::fibers::fiber> fibers;
  for (int i = first; i < how.fibers; i += how.threads) {
    const auto name = fmt::format("{}.{}", how.name, static_cast<char>('a' + i));
    fibers.emplace_back([=, &client, &lock, &link] { run_fiber(name, client, lock, link); });
  }
  for (auto& fiber : fibers) fiber.join();
  link.settle();
}

latchkey::client_options options_of(const worker_options& how, parent_link& link) {
  latchkey::client_options options;
  options.session_timeout = how.session_timeout;
  options.label = "latchkey tour, " + how.name;
  options.observer = [&link, &how](const latchkey::client_event& what) {
    using enum latchkey::client_event::kind;
    if (what.what == lost || what.what == closed) return;  // the first is told by the holder, the second expected
    link.tell({.who = how.name, .text = std::string{"(client: "} + std::string{to_string(what.what)} + ")"});
  };
  return options;
}

void contend(const worker_options& how, latchkey::client& client, parent_link& link) {
  latchkey::mutex lock{client, how.path, {.turns = static_cast<std::uint32_t>(how.turns)}};
  std::vector<std::jthread> threads;
  for (int i = 0; i < how.threads; ++i) {
    threads.emplace_back([&, i] { run_fibers(i, how, client, lock, link); });
  }
}

void work(const worker_options& how, parent_link& link) {
  latchkey::client client{how.connect_string, options_of(how, link)};
  how.obeys ? obey(how, client, link) : contend(how, client, link);
  client.close();
}

}  // namespace

int run_worker(const worker_options& how) {
  if (how.log) {
    latchkey::set_log_sink([name = how.name](latchkey::log_level level, std::string_view line) {
      fmt::print(stderr, "{} {}: {}\n", name, to_string(level), line);
    });
  }
  parent_link link;
  try {
    work(how, link);
    return EXIT_SUCCESS;
  } catch (const std::exception& failure) {
    link.tell({.who = how.name, .kind = event_kind::failed, .text = failure.what()});
    return EXIT_FAILURE;
  }
}

}  // namespace tour
