// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Coroutines of a type that latchkey does not know, and where they go on.

#include <condition_variable>
#include <coroutine>
#include <deque>
#include <exception>
#include <functional>
#include <future>
#include <memory>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <latchkey/async.hpp>
#include <latchkey/fair_mutex.hpp>
#include <latchkey/guard.hpp>
#include <latchkey/keyed_mutex.hpp>
#include <latchkey/shared_mutex.hpp>
#include <latchkey/ticket.hpp>

namespace latchkey::testing {

/// A coroutine that runs when it is made, until it is over or destroyed.
template <class Value>
class job {
 public:
  struct promise_type {
    job get_return_object() { return job{std::coroutine_handle<promise_type>::from_promise(*this)}; }
    std::suspend_never initial_suspend() noexcept { return {}; }
    std::suspend_always final_suspend() noexcept { return {}; }
    void return_value(Value what) { value = std::move(what); }
    void unhandled_exception() { failed = std::current_exception(); }

    std::optional<Value> value;
    std::exception_ptr failed;
  };

  job(job&& other) noexcept : frame_{std::exchange(other.frame_, nullptr)} {}
  job(const job&) = delete;
  job& operator=(const job&) = delete;
  ~job() { destroy(); }

  bool over() const { return frame_.done(); }
  /// @pre it is over. @throws what it has thrown
  Value& value() {
    if (frame_.promise().failed) std::rethrow_exception(frame_.promise().failed);
    return *frame_.promise().value;
  }
  void destroy() {
    if (const auto frame = std::exchange(frame_, nullptr)) frame.destroy();
  }

 private:
  explicit job(std::coroutine_handle<promise_type> frame) : frame_{frame} {}

  std::coroutine_handle<promise_type> frame_;
};

/// Keeps what is to go on until the test runs it, on its own thread. For coroutines that are taken step by step.
class stepped {
 public:
  auto where() {
    return [this](resumption next) {
      const std::lock_guard lock{mutex_};
      waiting_.push_back(std::move(next));
      came_.notify_all();
    };
  }
  std::size_t size() const {
    const std::lock_guard lock{mutex_};
    return waiting_.size();
  }
  /// Waits for one to come, for 30 s at most. @returns it.
  resumption take() {
    std::unique_lock lock{mutex_};
    if (!came_.wait_for(lock, std::chrono::seconds{30}, [this] { return !waiting_.empty(); }))
      throw std::runtime_error{"no coroutine was to go on within 30 s"};
    auto next = std::move(waiting_.front());
    waiting_.pop_front();
    return next;
  }
  void step() { take()(); }

 private:
  mutable std::mutex mutex_;
  std::condition_variable came_;
  std::deque<resumption> waiting_;
};

/// Threads on which coroutines go on.
class pool {
 public:
  explicit pool(std::size_t threads = 2) {
    for (std::size_t i = 0; i < threads; ++i) threads_.emplace_back([this] { run(); });
  }
  pool(const pool&) = delete;
  pool& operator=(const pool&) = delete;
  ~pool() {
    {
      const std::lock_guard lock{mutex_};
      over_ = true;
    }
    changed_.notify_all();
    for (auto& each : threads_) each.join();
  }

  void post(std::function<void()> what) {
    const std::lock_guard lock{mutex_};
    posted_.push_back(std::move(what));
    changed_.notify_one();
  }
  auto where() {
    return [this](resumption next) { post(std::move(next)); };
  }

 private:
  void run() {
    std::unique_lock lock{mutex_};
    for (;;) {
      changed_.wait(lock, [this] { return over_ || !posted_.empty(); });
      if (posted_.empty()) return;
      const auto next = std::move(posted_.front());
      posted_.pop_front();
      lock.unlock();
      next();
      lock.lock();
    }
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> posted_;
  bool over_ = false;
  std::vector<std::thread> threads_;
};

/// A coroutine that owns itself.
struct detached {
  struct promise_type {
    detached get_return_object() { return {}; }
    std::suspend_never initial_suspend() noexcept { return {}; }
    std::suspend_never final_suspend() noexcept { return {}; }
    void return_void() {}
    void unhandled_exception() { std::terminate(); }
  };
};

/// Awaits what `begin` returns. @returns when it has come
template <class Value, class Begin>
std::future<Value> awaited(Begin begin) {
  auto told = std::make_shared<std::promise<Value>>();
  auto result = told->get_future();
  [](Begin start, std::shared_ptr<std::promise<Value>> tell) -> detached {
    try {
      tell->set_value(co_await start());
    } catch (...) {
      tell->set_exception(std::current_exception());
    }
  }(std::move(begin), std::move(told));
  return result;
}

/// A coroutine that begins when it is awaited, has a guard in the end, and goes on with who awaits it by symmetric transfer, as cppcoro's task does.
class lazy {
 public:
  struct promise_type {
    struct to_caller {
      bool await_ready() noexcept { return false; }
      std::coroutine_handle<> await_suspend(std::coroutine_handle<promise_type> ended) noexcept {
        return ended.promise().caller;
      }
      void await_resume() noexcept {}
    };
    lazy get_return_object() { return lazy{std::coroutine_handle<promise_type>::from_promise(*this)}; }
    std::suspend_always initial_suspend() noexcept { return {}; }
    to_caller final_suspend() noexcept { return {}; }
    void return_value(guard what) { value = std::move(what); }
    void unhandled_exception() { failed = std::current_exception(); }

    std::coroutine_handle<> caller;
    guard value;
    std::exception_ptr failed;
  };

  lazy(const lazy&) = delete;
  lazy& operator=(const lazy&) = delete;
  ~lazy() { frame_.destroy(); }

  bool await_ready() noexcept { return false; }
  std::coroutine_handle<> await_suspend(std::coroutine_handle<> caller) noexcept {
    frame_.promise().caller = caller;
    return frame_;
  }
  guard await_resume() {
    if (frame_.promise().failed) std::rethrow_exception(frame_.promise().failed);
    return std::move(frame_.promise().value);
  }

 private:
  explicit lazy(std::coroutine_handle<promise_type> frame) : frame_{frame} {}

  std::coroutine_handle<promise_type> frame_;
};

// What coroutines wait for.
template <class Lock>
struct calls_of {
  template <class... Args>
  explicit calls_of(Args&&... args) : lock{std::forward<Args>(args)...} {}

  auto acquire(auto where, std::stop_token stop) { return co_acquire(lock, where, std::move(stop)); }
  auto try_acquire(auto where) { return co_try_acquire(lock, where); }
  auto try_acquire_for(auto where, auto timeout, std::stop_token stop) {
    return co_try_acquire_for(lock, where, timeout, std::move(stop));
  }

  Lock lock;
};

struct calls_of_reader {
  calls_of_reader(latchkey::client& owner, const std::string& path) : lock{owner, path} {}

  auto acquire(auto where, std::stop_token stop) { return co_acquire_shared(lock, where, std::move(stop)); }
  auto try_acquire(auto where) { return co_try_acquire_shared(lock, where); }
  auto try_acquire_for(auto where, auto timeout, std::stop_token stop) {
    return co_try_acquire_shared_for(lock, where, timeout, std::move(stop));
  }

  shared_mutex lock;
};

/// A fair mutex of which each call takes a ticket first.
struct calls_of_ticket {
  calls_of_ticket(latchkey::client& owner, const std::string& path) : lock{owner, path} {}

  lazy acquire(auto where, std::stop_token stop) {
    auto place = co_await co_enqueue(lock, where, stop);
    if (stop.stop_requested()) co_return guard{};
    co_return co_await co_acquire(place, where, stop);
  }
  /// The turn of a place that has just been taken is not known yet: `ahead()` asks.
  lazy try_acquire(auto where) {
    auto place = co_await co_enqueue(lock, where);
    if (place.ahead() != 0) co_return guard{};
    co_return co_await co_acquire(place, where);
  }
  lazy try_acquire_for(auto where, auto timeout, std::stop_token stop) {
    auto place = co_await co_enqueue(lock, where, stop);
    if (stop.stop_requested()) co_return guard{};
    co_return co_await co_try_acquire_for(place, where, timeout, stop);
  }

  fair_mutex lock;
};

struct calls_of_key {
  calls_of_key(latchkey::client& owner, const std::string& path)
      : lock{owner, path.substr(0, path.rfind('/'))}, key{path.substr(path.rfind('/') + 1)} {}

  auto acquire(auto where, std::stop_token stop) { return co_acquire(lock, key, where, std::move(stop)); }
  auto try_acquire(auto where) { return co_try_acquire(lock, key, where); }
  auto try_acquire_for(auto where, auto timeout, std::stop_token stop) {
    return co_try_acquire_for(lock, key, where, timeout, std::move(stop));
  }

  keyed_mutex lock;
  const std::string key;
};

}  // namespace latchkey::testing
