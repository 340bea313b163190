// SPDX-License-Identifier: Apache-2.0
#include <latchkey/semaphore.hpp>

#include <cstdint>
#include <string>

#include <fmt/format.h>

#include <latchkey/lockable.hpp>

#include "recipes/rules.hpp"
#include "recipes/semaphore/permit_line.hpp"

namespace latchkey {
namespace {

constexpr std::uint32_t most_permits = 2147483647;  // a negative number becomes a larger one

std::uint32_t require_permits(std::uint32_t permits, const std::string& path) {
  if (permits != 0 && permits <= most_permits) return permits;
  const auto negative =
      permits == 0 ? std::string{} : fmt::format(" (as a signed number {})", static_cast<std::int32_t>(permits));
  throw error{errc::bad_option,
              fmt::format("a semaphore of {} permits{}; give it 1 to {}", permits, negative, most_permits), path};
}

}  // namespace

semaphore::semaphore(client& owner, given_text<std::string> path, std::uint32_t permits, semaphore_options options)
    : path_{std::move(path)} {
  detail::require_lock_path(path_, owner.core()->chroot());
  line_ = std::make_shared<detail::permit_line>(owner.core(), path_, require_permits(permits, path_),
                                                detail::cohort_options::checked(options, path_), options.contract);
  line_->open();
}

semaphore::~semaphore() { line_->shut(); }

guard semaphore::acquire(std::uint32_t count) & { return take(count, std::chrono::nanoseconds::max(), {}); }

guard semaphore::take(std::uint32_t count, std::chrono::nanoseconds timeout, std::stop_token stop) {
  return line_->acquire(count, timeout, std::move(stop));
}

std::shared_ptr<detail::pending<guard>> semaphore::begin_guard(std::uint32_t count, std::chrono::nanoseconds timeout,
                                                               std::stop_token stop) {
  return line_->begin_guard(count, timeout, std::move(stop));
}

void semaphore::resize(std::uint32_t permits, saturating<std::chrono::nanoseconds> timeout) {
  line_->resize(require_permits(permits, path_), detail::time_to_answer(timeout));
}

std::uint32_t semaphore::permits() const { return line_->permits(); }

}  // namespace latchkey
