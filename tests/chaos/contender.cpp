// SPDX-License-Identifier: Apache-2.0
#include "contender.hpp"

#include <fmt/format.h>

#include <boost/fiber/fiber.hpp>
#include <boost/fiber/operations.hpp>
#include <exception>
#include <functional>
#include <optional>
#include <stop_token>
#include <utility>

namespace chaos {

using namespace std::chrono_literals;

bool ended_by_outage(const std::system_error& failure, const std::string& manner) {
  return failure.code() == latchkey::errc::unreachable && (manner.starts_with("try") || manner.starts_with("for"));
}

void contender::run(const std::atomic<bool>& finish) {
  finish_ = &finish;
  while (!finish) {
    // Half of the calls are for the first lock: one that everybody wants, beside some that few want.
    const auto last = static_cast<int>(locks_.size()) - 1;
    const int lock = one_in(2) ? 0 : std::uniform_int_distribution{0, last}(random_);
    if (one_in(10)) {
      call_again_and_again(lock);
    } else {
      call_in_some_manner(lock);
    }
    boost::this_fiber::sleep_for(up_to(20ms));
  }
  for (int lock = 0; lock < static_cast<int>(locks_.size()); ++lock) {
    for (const auto how : {access::exclusive, access::shared}) {
      if (how == access::shared && under_test(lock).as_shared() == nullptr) continue;
      how_ = how;
      call_and_wait(lock);
    }
  }
}

/// As whoever works through a list: locks again at once, so that its place is left and taken in one transaction.
void contender::call_again_and_again(int lock) {
  for (int left = std::uniform_int_distribution{3, 12}(random_); left > 0 && !*finish_; --left) {
    how_ = access::exclusive;  // it may have become a reader
    call_and_wait(lock, "again");
  }
}

void contender::call_in_some_manner(int lock) {
  how_ = under_test(lock).as_shared() != nullptr && !one_in(3) ? access::shared : access::exclusive;
  if (one_in(20)) unlock_what_is_not_ours(lock);
  if (under_test(lock).as_fair() != nullptr && one_in(2)) return stand_in_line(lock);
  const auto manner = std::uniform_int_distribution{0, 99}(random_);
  if (manner < 55) return call_and_wait(lock);
  if (manner < 65) return call_and_cancel(lock);
  if (manner < 80) return call(lock, "try", [this](lock_under_test& it) { return it.try_lock(how_); });
  const auto time = up_to(one_in(3) ? 2'000ms : 50ms);
  call(lock, fmt::format("for {}", time.count()), [&](lock_under_test& it) { return it.try_lock_for(how_, time); });
}

void contender::call_and_cancel(int lock) {
  std::stop_source source;
  boost::fibers::fiber canceller{[&source, time = up_to(1'500ms)] {
    boost::this_fiber::sleep_for(time);
    source.request_stop();
  }};
  call(lock, "cancelled", [&](lock_under_test& it) { return it.lock(how_, source.get_token()); });
  canceller.join();
}

void contender::call_and_wait(int lock, const std::string& manner) {
  call(lock, manner, [this](lock_under_test& it) { return it.lock(how_), true; });
}

void contender::call(int lock, const std::string& manner, const taking& take) {
  tell(event_kind::waits, lock, {}, manner);
  std::string failed;
  try {
    if (!take(under_test(lock))) return tell(event_kind::refused, lock, {});
  } catch (const latchkey::error& failure) {
    if (ended_by_outage(failure, manner)) return tell(event_kind::refused, lock, {});
    failed = failure.what();
  } catch (const std::exception& failure) {
    failed = failure.what();
  }
  if (failed.empty()) return hold(lock);
  tell(event_kind::failed, lock, {}, failed);
  boost::this_fiber::sleep_for(100ms);  // it may go on for ever
}

void contender::hold(int lock) {
  auto grant = under_test(lock).held(how_);
  const bool held = use(lock, grant);
  if (held && how_ == access::exclusive && under_test(lock).as_shared() != nullptr && one_in(3)) {
    grant = become_reader(lock, grant);
  }
  tell(event_kind::unlocks, lock, grant);
  under_test(lock).unlock(how_);
}

/// @returns whether it was held to the end.
bool contender::use(int lock, const latchkey::grant& grant) {
  if (!look(lock, grant, event_kind::granted)) {
    after_loss(lock, grant);
    return false;
  }
  std::atomic<bool> stopped{false};
  std::optional<std::stop_callback<std::function<void()>>> on_loss;
  if (one_in(2)) {
    on_loss.emplace(grant.stop_token(), [&] {
      tell(event_kind::stopped, lock, grant, grant ? "held" : "over");
      stopped = true;
    });
  }
  if (how_ == access::exclusive) tell(event_kind::wrote, lock, grant);
  work(lock, grant);
  if (look(lock, grant, event_kind::held)) return true;
  after_loss(lock, grant);
  // Counted in naps, not by the clock: this process may be stopped meanwhile.
  for (int naps = 0; on_loss && !stopped && naps < 1'000; ++naps) boost::this_fiber::sleep_for(10ms);
  if (on_loss && !stopped) tell(event_kind::failed, lock, grant, "lost, and not asked to stop");
  return false;
}

void contender::work(int lock, const latchkey::grant& grant) {
  const auto end = clock::now() + hold_time(lock);
  const bool stubborn = one_in(2);  // keeps what it is about to lose
  while ((clock::now() < end || (stubborn && !client_.connected())) && !*finish_) {
    if (one_in(2)) {
      if (grant.wait_for_end(up_to(5ms)) && grant) tell(event_kind::failed, lock, grant, "held after its end");
    } else {
      boost::this_fiber::sleep_for(up_to(5ms));
    }
    if (!look(lock, grant, event_kind::held)) return;
    if (one_in(8)) do_more(lock, grant);
  }
}

void contender::after_loss(int lock, const latchkey::grant& grant) {
  const auto why = grant.loss();
  tell(event_kind::lost, lock, grant, why ? std::string{to_string(*why)} : "without a reason");
  if (!grant.wait_for_end(10s)) tell(event_kind::failed, lock, grant, "lost, but its end cannot be waited for");
  if (one_in(2)) boost::this_fiber::sleep_for(up_to(300ms));
  do_more(lock, grant);
  // The mistake that the token is for: a holder whose time is over does not know, or care, and writes.
  if (how_ == access::exclusive) tell(event_kind::wrote, lock, grant);
}

bool contender::look(int lock, const latchkey::grant& grant, event_kind kind) {
  const auto at = clock::now();
  const auto until = grant.valid_until();
  if (grant) {
    tell(kind, lock, grant, fmt::format("{}", until.time_since_epoch().count()), at);
    return true;
  }
  if (kind == event_kind::granted) tell(event_kind::missed, lock, grant);
  return false;
}

void contender::tell(event_kind kind, int lock, const latchkey::grant& grant, std::string text,
                     clock::time_point at) const {
  pen_.add({at, name_, kind, lock, how_, grant.fence(), client_.session_id(), std::move(text)});
}

std::chrono::milliseconds contender::hold_time(int lock) {
  if (one_in(10)) return 0ms;
  if (one_in(lock == 0 ? 50 : 5)) return up_to(session_timeout_ * 2);
  return up_to(one_in(5) ? 300ms : 20ms);
}

std::chrono::milliseconds contender::up_to(std::chrono::milliseconds most) {
  return std::chrono::milliseconds{std::uniform_int_distribution<std::int64_t>{0, most.count()}(random_)};
}

}  // namespace chaos
