// SPDX-License-Identifier: Apache-2.0
#include "bridge/known_hosts.hpp"

#include <algorithm>
#include <chrono>
#include <random>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/log.hpp"
#include "bridge/resolver.hpp"

namespace latchkey::detail {
namespace {

std::minstd_rand seeded() { return std::minstd_rand{std::random_device{}()}; }

std::string to_list(std::vector<std::string> addresses) {
  if (addresses.empty()) return {};
  auto random = seeded();
  return to_server_list(std::move(addresses), random);
}

/// For which names that are slow are waited for when others have an answer: a server list without them is one that most
/// clients of an ensemble would share.
constexpr auto moment = std::chrono::milliseconds{250};

/// Some of them, by chance: another look-up has others.
void cut(std::vector<std::string>& addresses) {
  if (addresses.size() <= known_hosts::most_of_a_name) return;
  std::shuffle(addresses.begin(), addresses.end(), seeded());
  addresses.resize(known_hosts::most_of_a_name);
}

}  // namespace

known_hosts::known_hosts(const std::vector<std::string>& names) {
  for (const auto& each : names) {
    auto& added = hosts_.emplace_back(host{.name = each});
    if (are_addresses({each})) added.addresses = resolve({each}, added.failure);
  }
}

std::size_t known_hosts::begin_round(std::size_t most) {
  const std::lock_guard lock{mutex_};
  most_ = most;
  std::size_t due = 0;
  std::size_t known = 0;
  for (auto& each : hosts_) {
    each.is_due = !each.is_asked && !are_addresses({each.name});
    due += each.is_due ? 1 : 0;
    known += each.is_due && each.is_known() ? 1 : 0;
  }
  const auto up_to = [this](std::size_t limit) { return limit - std::min(limit, threads_); };
  const auto further = std::max(std::min(due, up_to(most)), std::min(known, up_to(most + most_known)));
  threads_ += further;
  return further;
}

/// @returns the name that is to be looked up next; null: none, by this thread.
known_hosts::host* known_hosts::next_due() {
  const auto first = [this](auto is_meant) -> host* {
    const auto at = std::find_if(hosts_.begin(), hosts_.end(), is_meant);
    return at != hosts_.end() ? &*at : nullptr;
  };
  if (auto* const known = first([](const host& each) { return each.is_due && each.is_known(); })) return known;
  return threads_ <= most_ ? first([](const host& each) { return each.is_due; }) : nullptr;
}

std::optional<known_hosts::answer> known_hosts::look_up_next() {
  std::unique_lock lock{mutex_};
  auto* const about = next_due();
  if (about == nullptr) {
    lock.unlock();
    go_without(1);
    return std::nullopt;
  }
  about->is_due = false;
  about->is_asked = true;
  lock.unlock();
  std::string failure;
  auto found = resolve({about->name}, failure);
  lock.lock();
  about->is_asked = false;
  about->failure = std::move(failure);
  cut(found);
  if (!found.empty()) about->addresses = std::move(found);
  say_failures();
  answer with;
  auto now = addresses();
  if (epoch_ != 0 && !now.empty() && now != given_) {
    given_ = std::move(now);
    with = {to_list(given_), epoch_};
  }
  changed_.notify_all();
  return with;
}

void known_hosts::go_without(std::size_t threads) {
  const std::lock_guard lock{mutex_};
  threads_ -= threads;
  changed_.notify_all();
}

known_hosts::servers known_hosts::wait_for_servers(std::uint64_t epoch, const std::vector<std::string>& without) {
  std::unique_lock lock{mutex_};
  without_ = without;
  const auto is_over = [this] { return threads_ == 0 || stopped_; };
  changed_.wait_for(lock, moment, is_over);
  changed_.wait(lock, [&] { return is_over() || !addresses().empty(); });
  for (auto& each : hosts_) {
    const bool is_unknown = each.addresses.empty() && each.failure.empty();
    if (is_unknown) each.failure = fmt::format("{}: no name server has answered yet", each.name);
  }
  say_failures();
  auto found = addresses();
  servers all{to_list(found), failures()};
  if (epoch > epoch_) {
    epoch_ = epoch;
    given_ = std::move(found);
  }
  return all;
}

void known_hosts::stop_waiting() {
  const std::lock_guard lock{mutex_};
  stopped_ = true;
  changed_.notify_all();
}

/// @returns those of all hosts, sorted, each once.
std::vector<std::string> known_hosts::addresses() const {
  std::vector<std::string> all;
  for (const auto& each : hosts_) all.insert(all.end(), each.addresses.begin(), each.addresses.end());
  std::sort(all.begin(), all.end());
  all.erase(std::unique(all.begin(), all.end()), all.end());
  std::erase_if(all, [this](const std::string& each) {
    return std::find(without_.begin(), without_.end(), each) != without_.end();
  });
  return all;
}

std::string known_hosts::failures() const {
  std::vector<std::string> all;
  for (const auto& each : hosts_) {
    if (!each.failure.empty()) all.push_back(each.failure);
  }
  return fmt::format("{}", fmt::join(all, "; "));
}

/// Each once. When no host has an address, that is said by who wants one.
void known_hosts::say_failures() {
  if (addresses().empty()) return;
  std::vector<std::string> news;
  for (auto& each : hosts_) {
    if (each.failure != each.said && !each.failure.empty()) news.push_back(each.failure);
    each.said = each.failure;
  }
  if (news.empty()) return;
  log(log_level::warning, "some hosts of the connect string do not resolve; connecting to the others",
      {{"cause", fmt::format("{}", fmt::join(news, "; "))}});
}

}  // namespace latchkey::detail
