// SPDX-License-Identifier: Apache-2.0
#include <latchkey/robust_mutex.hpp>

#include "base/path.hpp"
#include "queue/inquiry.hpp"
#include "recipes/line/line_call.hpp"
#include "recipes/robust/robust_line.hpp"

namespace latchkey {
namespace {

std::chrono::milliseconds checked(std::chrono::milliseconds lock_delay, const std::string& path) {
  detail::require_not_negative("lock_delay", lock_delay, path);
  if (lock_delay <= detail::longest_lock_delay) return lock_delay;
  throw error{errc::bad_option, "the option lock_delay is more than one minute; use fencing tokens", path};
}

bool is_same(const detail::reply& one, const detail::reply& other) {
  return one.code == other.code && one.stat.czxid == other.stat.czxid && one.stat.version == other.stat.version;
}

}  // namespace

robust_mutex::robust_mutex(client& owner, given_text<std::string> path, robust_mutex_options options)
    : path_{std::move(path)} {
  detail::require_lock_path(path_, owner.core()->chroot());
  const auto lock_delay = checked(options.lock_delay, path_);
  line_ = std::make_shared<detail::robust_line>(owner.core(), path_, detail::cohort_options::checked(options, path_),
                                                lock_delay);
}

robust_mutex::~robust_mutex() { line_->shut(); }

bool robust_mutex::take(std::chrono::nanoseconds timeout, std::stop_token stop) {
  return line_->acquire(timeout, std::move(stop));
}

guard robust_mutex::take_guard(std::chrono::nanoseconds timeout, std::stop_token stop) {
  return line_->acquire_guard(timeout, std::move(stop));
}

std::shared_ptr<detail::pending<guard>> robust_mutex::begin_guard(std::chrono::nanoseconds timeout,
                                                                  std::stop_token stop) {
  return detail::begin_guard(*line_, timeout, std::move(stop));
}

void robust_mutex::unlock() noexcept { line_->unlock(); }

std::optional<dead_owner> robust_mutex::abandoned() const { return line_->abandoned(); }

void robust_mutex::recovered() noexcept { line_->recovered(); }

void robust_mutex::poison() noexcept { line_->poison(); }

grant robust_mutex::held() const { return line_->held(); }

/// An owner whose node has gone, while its record is what it was before, has not unlocked: that deletes both at once.
std::optional<dead_owner> abandoned_at(client& through, const std::string& path,
                                       saturating<std::chrono::nanoseconds> timeout) {
  detail::validate_lock_path(path);
  auto& core = *through.core();
  const auto end = detail::deadline_after(core.monitor().now(), detail::time_to_answer(timeout));
  const auto lock = core.absolute(path);
  const auto ask = [&](std::vector<detail::request> what) {
    return detail::inquire(core, path, std::move(what), detail::time_until(end, core.monitor().now())).back();
  };
  const auto node = detail::join(lock, detail::name_of_record);
  const auto read = [&] { return ask({detail::barrier(lock), detail::read_of_record(node)}); };
  for (auto now = read();;) {
    if (now.code == detail::reply_code::no_node) return std::nullopt;
    const auto record = detail::read_robust_record(now);
    const auto entry = detail::join(lock, record.node);
    const bool names_entry = detail::parent_of(entry) == lock && detail::path_fault(entry).empty();
    if (!record.held || !names_entry) return record.left_by();
    const auto owner = ask({{.kind = detail::operation::get, .path = entry}});
    const auto before = std::exchange(now, read());
    if (!is_same(before, now)) continue;
    return owner.code == detail::reply_code::no_node ? record.left_by() : record.before;
  }
}

}  // namespace latchkey
