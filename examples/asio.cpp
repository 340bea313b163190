// SPDX-License-Identifier: Apache-2.0
// A job of an event loop that runs under a lock, and stops when the lock is lost.

#include <latchkey/boost_asio.hpp>
#include <latchkey/mutex.hpp>

#include <utility>  // boost/asio/awaitable.hpp of 1.74 needs it

#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/use_future.hpp>

#include <chrono>
#include <iostream>
#include <string>

#include "with_connect_string.hpp"

namespace {

using boost::asio::use_awaitable;

boost::asio::awaitable<int> bill_customers(latchkey::mutex& nightly) {
  auto held = co_await async_acquire(nightly, use_awaitable);  // the event loop goes on meanwhile
  boost::asio::steady_timer work{co_await boost::asio::this_coro::executor};
  int billed = 0;
  while (held && billed < 10) {  // not one more once the lock is lost
    work.expires_after(std::chrono::milliseconds{1});
    co_await work.async_wait(use_awaitable);
    ++billed;
  }
  co_return billed;  // releases the lock
}

bool example(const std::string& connect_string) {
  latchkey::client client{connect_string};
  latchkey::mutex nightly{client, "/locks/asio"};

  boost::asio::io_context loop;
  auto first = co_spawn(loop, bill_customers(nightly), boost::asio::use_future);
  auto second = co_spawn(loop, bill_customers(nightly), boost::asio::use_future);
  loop.run();

  const auto billed = first.get() + second.get();
  std::cout << billed << " customers were billed by two jobs, one after another\n";
  return billed == 20;
}

}  // namespace

int main(int argc, char** argv) { return with_connect_string(argc, argv, example); }
