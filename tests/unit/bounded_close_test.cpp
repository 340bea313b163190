// SPDX-License-Identifier: Apache-2.0
/// Closing a client of production is bounded, whatever it waits for: no server is needed. A program of its own, as it
/// takes the place of getaddrinfo.

#include <dlfcn.h>
#include <netdb.h>

#include <doctest/doctest.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <future>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>

#include <latchkey/client.hpp>
#include <latchkey/error.hpp>

#include "log_lines.hpp"

namespace {

/// Name servers that answer for "slow.test" so many times, and then no more until they are told to.
struct name_servers {
  std::mutex mutex;
  std::condition_variable changed;
  int answers = 1000;
  int waiting = 0;

  void answer() {
    std::unique_lock lock{mutex};
    ++waiting;
    changed.notify_all();
    changed.wait(lock, [this] { return answers > 0; });
    --answers;
    --waiting;
    changed.notify_all();
  }
  void set(int count) {
    const std::lock_guard lock{mutex};
    answers = count;
    changed.notify_all();
  }
  void wait_until_all_have_gone() {
    std::unique_lock lock{mutex};
    changed.wait(lock, [this] { return waiting == 0; });
  }
  void wait_until_asked() {
    std::unique_lock lock{mutex};
    changed.wait(lock, [this] { return waiting > 0 && answers == 0; });
  }
};

name_servers& servers() {
  static auto& all = *new name_servers;  // helper threads may still wait when the program ends
  return all;
}

}  // namespace

extern "C" int getaddrinfo(const char* node, const char* service, const addrinfo* hints, addrinfo** result) {
  using function = int (*)(const char*, const char*, const addrinfo*, addrinfo**);
  static const auto next = reinterpret_cast<function>(::dlsym(RTLD_NEXT, "getaddrinfo"));
  if (node != nullptr && std::string_view{node} == "slow.test") {
    servers().answer();
    node = "127.0.0.1";
  }
  return next(node, service, hints, result);
}

namespace latchkey::testing {
namespace {

using namespace std::chrono_literals;

constexpr auto long_enough = 20s;  // a limit, not a pace

/// An observer that does not return from one event until it is told to. Outlives the client it belongs to.
struct blocking_observer {
  std::promise<void> called;
  std::promise<void> go_on;
  std::promise<void> returned;
  std::atomic<int> calls{0};

  static client_options of(const std::shared_ptr<blocking_observer>& self) {
    client_options options;
    options.close_timeout = 200ms;
    options.observer = [self](const client_event&) {
      if (++self->calls > 1) return;
      self->called.set_value();
      self->go_on.get_future().get();
      self->returned.set_value();
    };
    return options;
  }
};

/// @returns whether `what` returns in time. If not, the program ends: what it waits for would never come.
template <class Callable>
bool returns(Callable what) {
  std::packaged_task<void()> task{std::move(what)};
  auto done = task.get_future();
  std::thread runner{std::move(task)};
  const bool in_time = done.wait_for(long_enough) == std::future_status::ready;
  if (!in_time) servers().set(1000);
  runner.join();
  return in_time;
}

}  // namespace

TEST_SUITE("bounded close") {
  TEST_CASE("the constructor does not wait for name servers that do not answer for longer than it is told") {
    servers().set(0);
    client_options options;
    options.connect_timeout = 50ms;
    std::string said;
    CHECK(returns([&] {
      try {
        client{"slow.test:1", options};
      } catch (const error& failure) {
        if (failure.code() == errc::unresolvable_host) said = failure.what();
      }
    }));
    CHECK(said.find("1000 ms") != std::string::npos);  // the least
    servers().set(1000);
    servers().wait_until_all_have_gone();
  }

  TEST_CASE("closing does not wait for name servers that do not answer") {
    for (const bool by_destructor : {false, true}) {
      CAPTURE(by_destructor);
      servers().set(1);  // for the constructor
      std::optional<client> nowhere{std::in_place, "slow.test:1"};
      servers().wait_until_asked();
      if (!by_destructor) CHECK(returns([&] { nowhere->close(); }));
      CHECK(returns([&] { nowhere.reset(); }));
      servers().set(1000);
      servers().wait_until_all_have_gone();
    }
  }

  TEST_CASE("closing does not wait for an observer that does not return, and it is not called again") {
    const log_lines log{log_level::warning};
    const auto observer = std::make_shared<blocking_observer>();
    {
      client nowhere{"127.0.0.1:1", blocking_observer::of(observer)};
      CHECK(returns([&] { nowhere.close(); }));  // of which it is told
      observer->called.get_future().get();
      CHECK(returns([&] { nowhere.close(); }));
    }
    CHECK(log.with("client_options::observer is still running, and the client closes without it").size() == 1);
    observer->go_on.set_value();
    observer->returned.get_future().get();
    CHECK(observer->calls == 1);
  }

  TEST_CASE("nor do two threads that close it at once") {
    const auto observer = std::make_shared<blocking_observer>();
    {
      client nowhere{"127.0.0.1:1", blocking_observer::of(observer)};
      std::thread other{[&] { CHECK(returns([&] { nowhere.close(); })); }};
      CHECK(returns([&] { nowhere.close(); }));
      other.join();
    }
    observer->go_on.set_value();
    observer->returned.get_future().get();
  }

  TEST_CASE("an observer that returns is told of the end before closing returns, however little time there is") {
    const log_lines log{log_level::warning};
    std::string told;
    client_options options;
    options.close_timeout = 0ms;
    options.observer = [&](const client_event& event) { told += to_string(event.what); };
    client nowhere{"127.0.0.1:1", options};
    nowhere.close();
    CHECK(told == "closed");
    CHECK(log.with("still running").empty());
  }
}

}  // namespace latchkey::testing
