// SPDX-License-Identifier: Apache-2.0
#pragma once

/// The thread on which callbacks of users run.

#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <thread>

#include <latchkey/export.hpp>

namespace latchkey::detail {

/// What becomes of a callback that is still due when the thread is abandoned.
enum class when_abandoned : std::uint8_t {
  run,   ///< it runs later: a stop token of a grant must be requested
  drop,  ///< it does not run: its listener is gone
};

/// Runs a callback of a user. @param blame called with what an exception says, before that ends the process
template <class Callback, class Blame>
void call_user(Callback&& callback, Blame&& blame) {
  try {
    callback();
  } catch (const std::exception& thrown) {
    blame(thrown.what());
    throw;
  } catch (...) {
    blame("not a std::exception");
    throw;
  }
}

/// Runs callbacks one after another, in the order they were posted. A slow one delays the ones after it and nothing
/// else. One that never returns is abandoned, and the thread with it.
class event_thread {
 public:
  event_thread();
  ~event_thread();  ///< as `stop()`
  event_thread(const event_thread&) = delete;
  event_thread& operator=(const event_thread&) = delete;

  /// From any thread; does not wait. After `stop()` nothing happens.
  /// @param name of the callback, in a log; must outlive it
  /// @returns how many callbacks have been posted so far
  LATCHKEY_EXPORT std::uint64_t post(std::function<void()> callback, when_abandoned what = when_abandoned::run,
                                     const char* name = "a callback");
  LATCHKEY_EXPORT std::uint64_t posted() const;

  /// The callback that runs now, or ran last while others are due. All zero: none is.
  struct running {
    std::uint64_t number = 0;
    const char* name = nullptr;
  };
  running now() const;

  /// Runs what has been posted, then ends the thread. `on_ended` is called then, on that thread, or by `abandon()`; at
  /// once if either has been. Does not wait.
  void stop(std::function<void()> on_ended);

  /// @pre stop(...). If a callback is still running, the thread is abandoned: it runs the callbacks that are
  /// not dropped, and ends. @returns that callback; all zero if none was running
  running abandon();

  /// Runs what has been posted, then ends and joins the thread, unless it has been abandoned. Not from a callback.
  void stop();

  /// Not the id of the thread, which the next thread may have once it has ended.
  bool is_this_thread() const noexcept;

 private:
  struct state;

  std::shared_ptr<state> state_;  // the thread may outlive this object
  std::thread thread_;
};

}  // namespace latchkey::detail
