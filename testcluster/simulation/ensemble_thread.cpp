// SPDX-License-Identifier: Apache-2.0
#include "simulation/ensemble_thread.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <system_error>
#include <utility>

#include "bridge/blocked_signals.hpp"
#include "session/client_core.hpp"
#include "simulation/thread_connector.hpp"

namespace latchkey::testing {
namespace {

/// Everything works, at once. Who is cut off tries again when that is over.
fault_plan calm_plan() {
  fault_plan plan;
  plan.network = plan.consensus = plan.lag = plan.opening = plan.reconnecting = {};
  plan.late_write = plan.refuse_sending = 0;
  plan.epoch = std::chrono::system_clock::now().time_since_epoch() - boottime_clock::now().time_since_epoch();
  return plan;
}

}  // namespace

ensemble_thread::ensemble_thread() : time_{1, clock_.now()}, ensemble_{time_, calm_plan(), 1} {}

std::shared_ptr<ensemble_thread> ensemble_thread::start() {
  const std::shared_ptr<ensemble_thread> self{new ensemble_thread};
  {
    const detail::blocked_signals none;
    self->thread_ = std::thread{[self] { self->run(); }};
  }
  return {self.get(), [self](ensemble_thread*) { self->stop(); }};
}

void ensemble_thread::stop() {
  stopping_ = true;
  look_again();
  if (is_this_thread()) {
    thread_.detach();
  } else {
    thread_.join();
  }
}

void ensemble_thread::require_home() const {
  if (!home_.left()) return;
  throw error{errc::closed,
              "the simulated ensemble was made before fork() and does not work in the child; make a new one"};
}

std::unique_ptr<detail::simulated_connector> ensemble_thread::connect(std::chrono::milliseconds session_timeout) {
  require_home();
  return std::make_unique<thread_connector>(*this, session_timeout);
}

void ensemble_thread::post(action message) {
  {
    const std::lock_guard lock{mutex_};
    messages_.push_back(std::move(message));
  }
  look_again();
}

void ensemble_thread::look_again() {
  {
    const std::lock_guard lock{mutex_};
    has_changed_ = true;
  }
  changed_.notify_one();
}

void ensemble_thread::perform(action verb) {
  require_home();
  if (thread_connector::in_callback()) {
    throw std::system_error{std::make_error_code(std::errc::resource_deadlock_would_occur),
                            "a callback of a client called the simulated ensemble; call it on another thread"};
  }
  const auto done = std::make_shared<detail::wait_point>();
  {
    const std::lock_guard lock{mutex_};
    verbs_.push_back({std::move(verb), done});
  }
  look_again();
  done->wait();
}

// On the thread

void ensemble_thread::run() {
  while (!stopping_) {
    settle();
    if (const auto verb = next_verb()) {
      settle();  // its caller may have left messages before it: the beginning of a client, say
      verb->what();
      settle_with_callbacks();
      verb->done->notify();
    } else {
      wait_for_change();
    }
  }
}

void ensemble_thread::wait_for_change() {
  const auto next = time_.next_time();
  std::unique_lock lock{mutex_};
  const auto changed = [this] { return has_changed_; };
  if (next) {
    changed_.wait_for(lock, *next - clock_.now(), changed);
  } else {
    changed_.wait(lock, changed);
  }
  has_changed_ = false;
}

bool ensemble_thread::read_messages() {
  std::deque<action> messages;
  {
    const std::lock_guard lock{mutex_};
    messages.swap(messages_);
  }
  for (auto& each : messages) {
    each();
    each = nullptr;
  }
  return !messages.empty();
}

void ensemble_thread::settle() {
  do {
    time_.run_until(clock_.now());
  } while (read_messages());
}

/// Goes on reading messages meanwhile: a callback may wait for a thread that waits for an answer.
void ensemble_thread::settle_with_callbacks() {
  while (true) {
    settle();
    const auto done = std::make_shared<std::atomic<bool>>(false);
    std::shared_ptr<void> last{nullptr, [own = weak_from_this(), done](void*) {
                                 *done = true;
                                 if (const auto thread = own.lock()) thread->look_again();
                               }};
    bool any = false;
    for (auto* const each : clients_) any = each->run_callbacks(last) || any;
    if (!any) return;
    for (last.reset(); !*done; settle()) wait_for_change();
  }
}

std::optional<ensemble_thread::asked_verb> ensemble_thread::next_verb() {
  const std::lock_guard lock{mutex_};
  if (verbs_.empty()) return std::nullopt;
  auto first = std::move(verbs_.front());
  verbs_.pop_front();
  return first;
}

/// Callbacks run before time goes on: a holder is told of its loss before the next contender is granted.
void ensemble_thread::advance(detail::duration by) {
  clock_.stop();
  const auto end = detail::deadline_after(clock_.now(), by);
  while (true) {
    settle_with_callbacks();
    const auto next = time_.next_time();
    if (!next || *next > end) break;
    clock_.move_to(std::max(*next, clock_.now()));
    time_.step();
  }
  clock_.move_to(end);
  settle_with_callbacks();
  clock_.resume();
}

thread_connector* ensemble_thread::client_of(const detail::client_core* core) noexcept {
  const auto found = std::find_if(clients_.begin(), clients_.end(), [&](auto* each) { return each->core() == core; });
  return found == clients_.end() ? nullptr : *found;
}

}  // namespace latchkey::testing
