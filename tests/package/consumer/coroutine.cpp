// SPDX-License-Identifier: Apache-2.0
// Coroutines of a type that latchkey does not know, and of Asio where there is one. They need no server: a client without
// a connection has no lock.

#include <latchkey/async.hpp>
#include <latchkey/mutex.hpp>

#ifdef WITH_BOOST_ASIO
#include <latchkey/boost_asio.hpp>

#include <boost/asio/bind_executor.hpp>
#include <boost/asio/io_context.hpp>
namespace net = boost::asio;
#endif
#ifdef WITH_ASIO
#include <latchkey/asio.hpp>

#include <asio/bind_executor.hpp>
#include <asio/io_context.hpp>
namespace net = asio;
#endif

#include <chrono>
#include <coroutine>
#include <cstdio>
#include <exception>
#include <future>
#include <thread>
#include <utility>

namespace {

struct task {
  struct promise_type {
    task get_return_object() { return {}; }
    std::suspend_never initial_suspend() noexcept { return {}; }
    std::suspend_never final_suspend() noexcept { return {}; }
    void return_void() {}
    void unhandled_exception() { std::terminate(); }
  };
};

task try_it(latchkey::mutex& lock, std::promise<bool>& told) {
  const auto where = [](const latchkey::resumption& next) { std::thread{next}.detach(); };
  auto held = co_await co_try_acquire_for(lock, where, std::chrono::milliseconds{10});
  told.set_value(static_cast<bool>(held));
}

}  // namespace

int main() {
  latchkey::client client{"127.0.0.1:1", {.close_timeout = std::chrono::milliseconds{0}}};
  latchkey::mutex lock{client, "/locks/nightly"};
  std::promise<bool> told;
  try_it(lock, told);
  bool held = told.get_future().get();
#if defined(WITH_BOOST_ASIO) || defined(WITH_ASIO)
  net::io_context context;
  bool ran = false;
  async_try_acquire_for(lock, std::chrono::milliseconds{10},
                        net::bind_executor(context, [&](const std::exception_ptr&, const latchkey::guard& mine) {
                          ran = true;
                          held = held || mine.grant() != latchkey::grant{};
                        }));
  context.run();
  if (!ran) held = true;
#endif
  std::puts(held ? "a lock without an ensemble" : "not held, as it must be");
  return held ? 1 : 0;
}
