// SPDX-License-Identifier: Apache-2.0
#include "bridge/wait_point.hpp"

#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <fstream>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <vector>

#ifndef LATCHKEY_WITHOUT_FIBERS
#include <boost/fiber/fiber.hpp>
#include <boost/fiber/operations.hpp>
#endif

#include <doctest/doctest.h>

namespace latchkey::detail {

TEST_SUITE("wait point") {
  TEST_CASE("who is notified before it waits does not wait") {
    wait_point point;
    point.notify();
    point.notify();
    point.wait();
  }

  TEST_CASE("a thread that ends as soon as it is woken does not end under the one that wakes it") {
    for (int round = 0; round < 2000; ++round) {
      auto point = std::make_shared<wait_point>();
      std::atomic<bool> begun{false};
      std::thread waiter{[point, &begun] {
        begun = true;
        point->wait();
      }};
      while (!begun) std::this_thread::yield();
      point->notify();
      point.reset();
      waiter.join();
    }
  }

#ifndef LATCHKEY_WITHOUT_FIBERS
  TEST_CASE("a thread that ends with its last fiber, which was woken, does not end under the one that wakes it") {
    for (const bool known : {false, true}) {
      for (int round = 0; round < 1000; ++round) {
        auto point = std::make_shared<wait_point>();
        std::atomic<bool> begun{false};
        std::thread waiter{[point, &begun, known] {
          if (known) current_fiber();
          boost::fibers::fiber{[point, &begun] {
            begun = true;
            point->wait();
          }}.detach();
        }};
        while (!begun) std::this_thread::yield();
        point->notify();
        point.reset();
        waiter.join();
      }
    }
  }
#endif

  TEST_CASE("threads have identities of their own that are not used again") {
    std::set<std::uint64_t> seen{current_fiber()};
    CHECK(seen.contains(current_fiber()));
    for (int i = 0; i < 50; ++i) {
      std::uint64_t other = 0;
      std::thread{[&] { other = current_fiber(); }}.join();
      CHECK(seen.insert(other).second);
    }
  }

  TEST_CASE("a signal handler on the thread that sleeps there may notify it") {
    static std::atomic<wait_point*> notified{nullptr};
    struct sigaction own {};
    struct sigaction before {};
    own.sa_handler = [](int) { notified.load()->notify(); };
    ::sigaction(SIGUSR1, &own, &before);
    for (int round = 0; round < 40; ++round) {
      const auto point = std::make_shared<wait_point>();
      notified = point.get();
      std::atomic<::pid_t> waiter{0};
      std::thread thread{[&] {
        waiter = ::gettid();
        point->wait();
      }};
      while (waiter == 0) std::this_thread::yield();
      const auto asleep = [&] {
        std::ifstream stat{"/proc/self/task/" + std::to_string(waiter) + "/stat"};
        std::string id, name, state;
        return (stat >> id >> name >> state) && state == "S";
      };
      for (int times = 0; times < 3;) times = asleep() ? times + 1 : 0;
      ::pthread_kill(thread.native_handle(), SIGUSR1);
      thread.join();
    }
    ::sigaction(SIGUSR1, &before, nullptr);
  }

#ifndef LATCHKEY_WITHOUT_FIBERS
  TEST_CASE("while one fiber waits the others of its thread go on, and fibers have identities of their own") {
    constexpr std::size_t count = 200;
    std::vector<std::shared_ptr<wait_point>> points;
    for (std::size_t i = 0; i < count; ++i) points.push_back(std::make_shared<wait_point>());
    std::set<std::uint64_t> seen;
    std::atomic<std::size_t> waiting{0};
    std::thread waker{[&] {
      while (waiting < count) std::this_thread::yield();  // all of them, at once, on one thread
      for (const auto& point : points) point->notify();
    }};
    std::vector<boost::fibers::fiber> fibers;
    for (const auto& point : points) {
      fibers.emplace_back([&, point] {
        const auto me = current_fiber();
        seen.insert(me);
        ++waiting;
        point->wait();
        CHECK(current_fiber() == me);
      });
    }
    for (auto& fiber : fibers) fiber.join();
    waker.join();
    CHECK(seen.size() == count);
  }
#endif
}

}  // namespace latchkey::detail
