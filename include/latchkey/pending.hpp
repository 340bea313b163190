// SPDX-License-Identifier: Apache-2.0
#pragma once

/// A call that waits without a thread: what async.hpp and the headers for Asio stand on.

#include <chrono>
#include <memory>
#include <stop_token>
#include <string>
#include <utility>

#include <latchkey/export.hpp>

namespace latchkey {

class client;
class grant;
class transaction;
struct commit_result;
struct sequencer;
struct stored_value;

namespace detail {

/// A call that has begun, and that no thread waits in. Its owner is one coroutine, or one operation of Asio.
///
/// | event \ it is | waiting               | over, its continuation runs | over                |
/// |---------------|-----------------------|-----------------------------|---------------------|
/// | `then`        | the continuation will run | -                       | returns false       |
/// | `cancel`      | over, soon: stopped   | nothing                     | nothing             |
/// | `abandon`     | over, soon; the continuation does not run; what is granted is given back | waits for its return, then as if over | what was granted is given back |
/// | `result`      | -                     | waits for its return, then as if over | returns, or throws |
class LATCHKEY_EXPORT pending_call {
 public:
  /// What runs when the call is over: on a thread of latchkey, or one that releases a lock.
  class continuation {
   public:
    /// Called once.
    virtual void run() noexcept = 0;

   protected:
    ~continuation() = default;
  };

  virtual ~pending_call() = default;
  pending_call(const pending_call&) = delete;
  pending_call& operator=(const pending_call&) = delete;

  /// @param what must live until it has run, or `abandon()` has returned. @returns false if the call is over: then it does
  /// not run. Once.
  virtual bool then(continuation& what) = 0;
  /// Ends the wait, as a stop request does: the continuation still runs. From any thread, at any time.
  virtual void cancel() noexcept = 0;
  /// The owner has gone. Afterwards the continuation does not run, nor is it running, except on the calling thread.
  virtual void abandon() noexcept = 0;
  /// From any thread.
  virtual bool abandoned() const noexcept = 0;

 protected:
  pending_call() = default;
};

/// A call with an outcome.
template <class Outcome>
class LATCHKEY_EXPORT pending : public pending_call {
 public:
  /// @pre it is over. Once. @throws what the blocking call does
  virtual Outcome result() = 0;
};

/// Begins calls.
struct LATCHKEY_EXPORT asynchronous {
  /// Of `acquire()` and its kin. @throws as these, what is known at once
  template <class Lock, class... Args>
  static auto begin(Lock& lock, Args&&... args) -> decltype(lock.begin_guard(std::forward<Args>(args)...)) {
    return lock.begin_guard(std::forward<Args>(args)...);
  }
  /// Of `acquire_shared()` and its kin.
  template <class Lock>
  static auto begin_shared(Lock& lock, std::chrono::nanoseconds timeout, std::stop_token stop) {
    return lock.begin_shared_guard(timeout, std::move(stop));
  }
  /// Of `enqueue()`.
  template <class Lock>
  static auto begin_to_queue(Lock& lock, std::stop_token stop) {
    return lock.begin_to_queue(std::move(stop));
  }
  /// Of `grant::wait_for_end()`.
  static std::shared_ptr<pending<bool>> begin_to_wait_for_end(const grant& of, std::stop_token stop);
  /// Of `client::wait_for_connection()`.
  static std::shared_ptr<pending<bool>> begin_to_connect(client& which, std::chrono::nanoseconds timeout);
  /// Of `transaction::commit()`, or `commit_and_release()`.
  static std::shared_ptr<pending<commit_result>> begin_to_commit(transaction& what, std::chrono::nanoseconds timeout,
                                                                 bool releases);
  /// Of `read()`.
  static std::shared_ptr<pending<stored_value>> begin_to_read(client& through, const std::string& path,
                                                              std::chrono::nanoseconds timeout);
  /// Of `check_sequencer()`.
  static std::shared_ptr<pending<bool>> begin_to_check(client& through, const sequencer& what,
                                                       std::chrono::nanoseconds timeout);
};

/// A lock that can be waited for without a thread.
template <class Lock>
concept asynchronous_lock = requires(Lock& lock, std::chrono::nanoseconds timeout, std::stop_token stop) {
  asynchronous::begin(lock, timeout, stop);
};

}  // namespace detail
}  // namespace latchkey
