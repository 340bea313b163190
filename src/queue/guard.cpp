// SPDX-License-Identifier: Apache-2.0
#include <latchkey/guard.hpp>

#include <chrono>
#include <functional>
#include <memory>
#include <stop_token>
#include <utility>
#include <vector>

#include "queue/guarded.hpp"

namespace latchkey {

namespace detail {

/// Requests stop when one of two tokens does.
class linked_stop {
 public:
  linked_stop(std::stop_token one, std::stop_token other)
      : on_one_{std::move(one), [this] { source_.request_stop(); }}, on_other_{std::move(other), [this] {
                                                                                 source_.request_stop();
                                                                               }} {}

  std::stop_token token() const noexcept { return source_.get_token(); }

 private:
  std::stop_source source_;
  std::stop_callback<std::function<void()>> on_one_;
  std::stop_callback<std::function<void()>> on_other_;
};

/// Those of one guard: each token that it has given out is told of the loss, also when no one can request stop on the
/// other one any more. (Whether anyone still looks at a token cannot be known.)
class linked_stops {
  using nanoseconds = std::chrono::nanoseconds;

 public:
  std::stop_token token(const latchkey::grant& held, std::stop_token also, nanoseconds before) {
    auto of_grant = before == nanoseconds::zero() ? held.stop_token() : held.stop_token(before);
    for (const auto& each : all_) {
      if (each.also == also && each.of_grant == of_grant) return each.both->token();
    }
    if (!also.stop_possible()) return of_grant;
    std::erase_if(all_, [](const link& each) { return each.both->token().stop_requested(); });  // nothing more to tell
    auto both = std::make_unique<linked_stop>(of_grant, also);
    all_.push_back({std::move(of_grant), std::move(also), std::move(both)});
    return all_.back().both->token();
  }

 private:
  struct link {
    std::stop_token of_grant;
    std::stop_token also;
    std::unique_ptr<linked_stop> both;
  };
  std::vector<link> all_;
};

}  // namespace detail

guard::guard(std::shared_ptr<detail::guarded> lock, latchkey::grant what, std::uint64_t holder) noexcept
    : lock_{std::move(lock)}, grant_{std::move(what)}, holder_{holder} {}

guard::guard(guard&& other) noexcept { take_over(other); }

guard& guard::operator=(guard&& other) noexcept {
  if (this == &other) return *this;
  release();
  take_over(other);
  return *this;
}

guard::~guard() { release(); }

/// Its fiber is not known from here on: it may be destroyed by another one.
void guard::take_over(guard& other) noexcept {
  lock_ = std::move(other.lock_);
  grant_ = std::exchange(other.grant_, {});
  linked_ = std::move(other.linked_);
  holder_ = lock_ ? lock_->disown(other.holder_, grant_) : 0;
}

std::stop_token guard::stop_token(std::stop_token also, saturating<std::chrono::nanoseconds> before) & {
  if (!linked_) linked_ = std::make_shared<detail::linked_stops>();
  return linked_->token(grant_, std::move(also), before);
}

void guard::release() noexcept {
  linked_ = nullptr;
  const auto what = std::exchange(grant_, {});
  if (const auto lock = std::exchange(lock_, nullptr)) lock->release_grant(holder_, what);
}

}  // namespace latchkey
