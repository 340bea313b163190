// SPDX-License-Identifier: Apache-2.0
#include <latchkey/queue_snapshot.hpp>

#include <algorithm>
#include <limits>
#include <optional>
#include <utility>

#include <fmt/chrono.h>
#include <fmt/format.h>

#include "base/escape.hpp"
#include "base/path.hpp"
#include "queue/admission.hpp"
#include "queue/foreign_use.hpp"
#include "queue/inquiry.hpp"
#include "queue/record.hpp"
#include "recipes/agreed_number.hpp"
#include "recipes/queue_listing.hpp"
#include "recipes/rules.hpp"

namespace latchkey {
namespace {

using detail::candidate;
using detail::in_order;
using detail::permit_folder;
using detail::turns_folder;

/// @param queue of a lock that has the same path by mistake
/// @returns those who hold permits of a semaphore, then that queue, then those who wait for their turn. Leases beyond
/// the recorded number are those of the first who waits.
std::vector<candidate> list_semaphore(detail::client_core& core, const std::string& path,
                                      const std::vector<candidate>& queue, detail::duration timeout) {
  const auto absolute = core.absolute(path);
  const auto folder = [&](std::string_view name) {
    return detail::request{.kind = detail::operation::children,
                           .path = detail::join(absolute, name.substr(0, name.size() - 1))};
  };
  const auto listed = detail::inquire(
      core, path, {folder(permit_folder), folder(turns_folder), {.kind = detail::operation::get, .path = absolute}},
      timeout);
  const auto& lock = detail::rule_of(detail::contender_kind::lock);
  if (!queue.empty() && detail::shows_foreign_use(lock, listed[0].children)) {
    core.monitor().run([&] { detail::warn_of_foreign_use(core, absolute, lock); });
  }
  auto all = in_order(listed[0].children, permit_folder);
  if (const auto most = detail::permits_agreement.read(listed[2].data); most && *most < all.size()) all.resize(*most);
  all.insert(all.end(), queue.begin(), queue.end());
  for (auto& each : in_order(listed[1].children, turns_folder)) all.push_back(std::move(each));
  return all;
}

/// @returns the queue as it is now, or later.
std::vector<candidate> list(detail::client_core& core, const std::string& path, detail::duration timeout) {
  const auto absolute = core.absolute(path);
  const auto end = detail::deadline_after(core.monitor().now(), timeout);
  const auto listed = detail::inquire(
      core, path, {detail::barrier(absolute), {.kind = detail::operation::children, .path = absolute}}, timeout);
  const auto& children = listed.back().children;
  const auto queue = in_order(children);
  if (std::find(children.begin(), children.end(), permit_folder.substr(0, permit_folder.size() - 1)) == children.end())
    return queue;
  return list_semaphore(core, path, queue, detail::time_until(end, core.monitor().now()));
}

std::string_view name_of_lock(contender::kind kind) noexcept {
  switch (kind) {
    case contender::kind::lock:
      break;
    case contender::kind::read:
      return "read lock";
    case contender::kind::write:
      return "write lock";
    case contender::kind::permit:
      return "permit";
  }
  return "lock";
}

/// @returns the contender in words: by its label if it has one.
std::string describe(const contender& who) {
  using detail::escaped;
  const auto* const permanent = who.permanent() ? " (foreign, permanent)" : "";
  if (!who.label.empty()) {
    return fmt::format("{} ({}, pid {}){}", escaped(who.label), escaped(who.host), who.pid, permanent);
  }
  if (who.data == detail::release_request) return who.node + " (asked to release)" + permanent;
  return escaped(who.data.empty() ? std::string_view{who.node} : std::string_view{who.data}.substr(0, 64)) + permanent;
}

/// @returns the number of waiters, and how many of those that were read are permanent.
std::string count_of(const queue_snapshot& queue) {
  const auto waiters = queue.waiters();
  const auto permanent = std::count_if(waiters.begin(), waiters.end(), [](const auto& who) { return who.permanent(); });
  if (permanent == 0) return fmt::format("{} waiting", queue.waiter_count());
  return fmt::format("{} waiting ({} foreign, permanent)", queue.waiter_count(), permanent);
}

}  // namespace

std::string_view to_string(contender::kind kind) noexcept {
  switch (kind) {
    case contender::kind::lock:
      return "lock";
    case contender::kind::read:
      return "read";
    case contender::kind::write:
      return "write";
    case contender::kind::permit:
      return "permit";
  }
  return "unknown";
}

queue_snapshot::queue_snapshot(client& through, given_text<std::string> path,
                               saturating<std::chrono::nanoseconds> timeout)
    : queue_snapshot{through, std::move(path), timeout, std::numeric_limits<std::size_t>::max()} {}

queue_snapshot::queue_snapshot(client& through, given_text<std::string> path,
                               saturating<std::chrono::nanoseconds> timeout, std::size_t most)
    : path_{std::move(path)} {
  detail::validate_lock_path(path_);
  auto& core = *through.core();
  timeout = detail::time_to_answer(timeout);
  const auto end = detail::deadline_after(core.monitor().now(), timeout);
  const auto sorted = list(core, path_, timeout);
  std::vector<detail::request> reads;
  for (const auto& each : std::span{sorted}.first(std::min(most, sorted.size()))) {
    reads.push_back({.kind = detail::operation::get, .path = detail::join(core.absolute(path_), each.name)});
  }
  std::vector<detail::reply> answers;
  if (!reads.empty()) {
    answers = detail::inquire(core, path_, std::move(reads), detail::time_until(end, core.monitor().now()));
  }
  detail::turns_of_queue counted;
  for (std::size_t i = 0; i < answers.size(); ++i) {
    const auto& read = answers[i];
    if (read.code != detail::reply_code::ok) continue;  // it has left meanwhile
    const bool holds = counted.next(sorted[i]);
    if (holds) ++seen_.holders;
    const bool cut = read.data_size > read.data.size();
    const auto owner = cut ? detail::contender_record{} : detail::read_owner(read.data);
    seen_.contenders.push_back(
        {.node = sorted[i].name,
         .what = detail::public_kind(sorted[i].place.kind),
         .holds = holds,
         .label = owner.label,
         .host = owner.host,
         .pid = owner.pid,
         .since = std::chrono::system_clock::time_point{std::chrono::milliseconds{read.stat.ctime}},
         .session = read.stat.ephemeral_owner,
         .data = read.data,
         .data_cut = cut});
  }
  for (std::size_t i = answers.size(); i < sorted.size(); ++i) {
    ++(counted.next(sorted[i]) ? seen_.unread_holders : seen_.unread_waiters);
  }
}

std::string to_string(const queue_snapshot& queue) {
  const auto path = detail::escaped(queue.path());
  if (queue.holder_count() == 0) {
    return fmt::format("{}: not held{}", path, queue.waiter_count() == 0 ? "" : ", " + count_of(queue));
  }
  if (queue.holders().empty()) return fmt::format("{}: held, {}", path, count_of(queue));  // none was read
  const auto& first = queue.holders().front();
  const auto others = queue.holder_count() - 1;
  return fmt::format("{}: {} held by {}{} since {:%FT%TZ}, {}", path, name_of_lock(first.what), describe(first),
                     others > 0 ? fmt::format(" and {} more", others) : std::string{},
                     fmt::gmtime(std::chrono::system_clock::to_time_t(first.since)), count_of(queue));
}

std::size_t ask_to_release(client& through, const std::string& path, saturating<std::chrono::nanoseconds> timeout) {
  detail::validate_lock_path(path);
  auto& core = *through.core();
  timeout = detail::time_to_answer(timeout);
  const auto end = detail::deadline_after(core.monitor().now(), timeout);
  std::vector<detail::request> writes;
  detail::turns_of_queue counted;
  for (const auto& each : list(core, path, timeout)) {
    if (!counted.next(each)) break;
    writes.push_back({.kind = detail::operation::set,
                      .path = detail::join(core.absolute(path), each.name),
                      .data = std::string{detail::release_request}});
  }
  if (writes.empty()) return 0;
  const auto answers = detail::inquire(core, path, std::move(writes), detail::time_until(end, core.monitor().now()));
  return static_cast<std::size_t>(std::count_if(
      answers.begin(), answers.end(), [](const detail::reply& each) { return each.code == detail::reply_code::ok; }));
}

bool evict(client& through, const std::string& path, const std::string& node,
           saturating<std::chrono::nanoseconds> timeout) {
  detail::validate_lock_path(path);
  if (!detail::place_of(node)) {
    throw error{errc::bad_path,
                fmt::format("\"{}\" is not the name of a contender's node, so it was not deleted; take the name from "
                            "contender::node of a queue_snapshot",
                            detail::escaped(std::string_view{node}.substr(0, 128))),
                path};
  }
  auto& core = *through.core();
  timeout = detail::time_to_answer(timeout);
  const auto end = detail::deadline_after(core.monitor().now(), timeout);
  const auto absolute = detail::join(core.absolute(path), node);
  detail::validate_path(absolute);
  // Read first: after a lost reply, a deletion that finds nothing may be the second one.
  const auto read = detail::inquire(
      core, path, {detail::barrier(absolute), {.kind = detail::operation::get, .path = absolute}}, timeout);
  if (read.back().code == detail::reply_code::no_node) return false;
  detail::inquire(core, path, {{.kind = detail::operation::remove, .path = absolute}},
                  detail::time_until(end, core.monitor().now()));
  return true;
}

}  // namespace latchkey
