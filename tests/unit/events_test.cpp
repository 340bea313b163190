// SPDX-License-Identifier: Apache-2.0
#include "session/events.hpp"

#include <doctest/doctest.h>

#include <future>
#include <string>
#include <string_view>
#include <thread>

using namespace latchkey::detail;
using namespace std::string_view_literals;

TEST_SUITE_BEGIN("events");

TEST_CASE("what has been posted runs in its order before the thread ends") {
  std::string order;
  event_thread events;
  for (const char each : std::string{"abc"}) events.post([&order, each] { order += each; });
  events.stop();
  CHECK(order == "abc");
  events.post([&order] { order += 'd'; });
  std::promise<void> told;
  events.stop([&] { told.set_value(); });
  told.get_future().get();
  CHECK(order == "abc");
}

TEST_CASE("no other thread is that of the events, also one that is begun when that has ended") {
  event_thread events;
  bool is_one = false;
  events.post([&] { is_one = events.is_this_thread(); });
  events.stop();
  CHECK(is_one);
  for (int i = 0; i < 10; ++i) {  // whose ids may be those of threads that have ended
    std::thread{[&] { is_one = events.is_this_thread(); }}.join();
    CHECK_FALSE(is_one);
  }
}

TEST_CASE("the end is told to everybody who asks for it") {
  std::promise<void> first;
  std::promise<void> second;
  event_thread events;
  events.stop([&] { first.set_value(); });
  events.stop([&] { second.set_value(); });
  first.get_future().get();
  second.get_future().get();
}

TEST_CASE("a thread that is abandoned runs later what must run, and nothing else") {
  struct shared_state {
    std::promise<void> go_on;
    std::promise<void> ran;
    std::atomic<bool> dropped_ran{false};
  };
  const auto shared = std::make_shared<shared_state>();
  bool told = false;
  {
    event_thread events;
    std::promise<void> begun;
    events.post([shared, &begun] {
      begun.set_value();
      shared->go_on.get_future().get();
    });
    events.post([shared] { shared->dropped_ran = true; }, when_abandoned::drop);
    events.post([shared] { shared->ran.set_value(); });
    begun.get_future().get();
    events.stop([&] { told = true; });
    CHECK_FALSE(told);
    CHECK(events.abandon().name == "a callback"sv);
    CHECK(told);
    CHECK(events.abandon().number == 0);
    events.stop();  // does not wait
  }
  shared->go_on.set_value();
  shared->ran.get_future().get();
  CHECK_FALSE(shared->dropped_ran);
}

TEST_SUITE_END();
