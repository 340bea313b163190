// SPDX-License-Identifier: Apache-2.0
#include "bridge/wait_point.hpp"

#include <atomic>
#include <memory>
#include <set>
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

  TEST_CASE("threads have identities of their own that are not used again") {
    std::set<std::uint64_t> seen{current_fiber()};
    CHECK(seen.contains(current_fiber()));
    for (int i = 0; i < 50; ++i) {
      std::uint64_t other = 0;
      std::thread{[&] { other = current_fiber(); }}.join();
      CHECK(seen.insert(other).second);
    }
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
