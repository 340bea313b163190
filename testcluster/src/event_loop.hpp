// SPDX-License-Identifier: Apache-2.0
#pragma once
// A thread that does all the work of a proxy, so that its state needs no locks.

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <functional>
#include <future>
#include <thread>
#include <type_traits>
#include <utility>

#include "block_signals.hpp"

namespace latchkey::testing::detail {

class event_loop {
 public:
  event_loop()
      : thread_([this] {
          block_signals();
          io_.run();
        }) {}
  event_loop(const event_loop&) = delete;
  event_loop& operator=(const event_loop&) = delete;
  ~event_loop() { stop(); }

  /// Runs the function on the loop's thread, and waits for it. @pre called from another thread; not stopped
  template <class Function>
  auto run(Function function) {
    std::packaged_task<std::invoke_result_t<Function>()> task{std::move(function)};
    auto result = task.get_future();
    boost::asio::post(io_, [&task] { task(); });
    return result.get();
  }

  /// Afterwards nothing runs on the thread any more.
  void stop() {
    io_.stop();
    if (thread_.joinable()) thread_.join();
  }

  [[nodiscard]] boost::asio::io_context& io() noexcept { return io_; }

 private:
  boost::asio::io_context io_{1};
  boost::asio::executor_work_guard<boost::asio::io_context::executor_type> work_{io_.get_executor()};
  std::thread thread_;
};

}  // namespace latchkey::testing::detail
