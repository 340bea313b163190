// SPDX-License-Identifier: Apache-2.0
#include <latchkey/guard.hpp>

#include <functional>
#include <utility>

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
  auto of_grant = before == before.zero() ? grant_.stop_token() : grant_.stop_token(before);
  linked_ = std::make_shared<detail::linked_stop>(std::move(of_grant), std::move(also));
  return linked_->token();
}

void guard::release() noexcept {
  linked_ = nullptr;
  const auto what = std::exchange(grant_, {});
  if (const auto lock = std::exchange(lock_, nullptr)) lock->release_grant(holder_, what);
}

}  // namespace latchkey
