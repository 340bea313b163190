// SPDX-License-Identifier: Apache-2.0
#include "bridge/known_hosts.hpp"

#include <algorithm>
#include <random>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/log.hpp"
#include "bridge/resolver.hpp"

namespace latchkey::detail {
namespace {

std::string to_list(std::vector<std::string> addresses) {
  if (addresses.empty()) return {};
  std::minstd_rand random{std::random_device{}()};
  return to_server_list(std::move(addresses), random);
}

void say(const std::string& failure) {
  log(log_level::warning, "some hosts of the connect string do not resolve; connecting to the others",
      {{"cause", failure}});
}

}  // namespace

known_hosts::known_hosts(const std::vector<std::string>& names) {
  for (const auto& each : names) hosts_.push_back({.name = each});
}

known_hosts::servers known_hosts::look_up_all(std::uint64_t epoch, const std::vector<std::string>& without) {
  for (auto& each : hosts_) {  // neither grows nor shrinks; a name never changes
    std::string failure;
    auto found = resolve({each.name}, failure);
    const std::lock_guard lock{mutex_};
    learn(each, std::move(found), std::move(failure));
  }
  servers all;
  {
    const std::lock_guard lock{mutex_};
    without_ = without;
    auto found = addresses();
    all = {to_list(found), failures()};
    if (epoch != 0) {
      epoch_ = epoch;
      given_ = std::move(found);
    }
  }
  if (!all.failure.empty() && !all.list.empty()) say(all.failure);
  return all;
}

std::size_t known_hosts::begin_round(std::size_t most) {
  const std::lock_guard lock{mutex_};
  std::size_t asked = 0;
  std::size_t due = 0;
  for (auto& each : hosts_) {
    each.is_due = !each.is_asked && !are_addresses({each.name});
    asked += each.is_asked ? 1 : 0;
    due += each.is_due ? 1 : 0;
  }
  return std::min(due, most - std::min(most, asked));
}

std::optional<std::size_t> known_hosts::take() {
  const std::lock_guard lock{mutex_};
  const auto next = std::find_if(hosts_.begin(), hosts_.end(), [](const host& each) { return each.is_due; });
  if (next == hosts_.end()) return std::nullopt;
  next->is_due = false;
  next->is_asked = true;
  return static_cast<std::size_t>(next - hosts_.begin());
}

std::optional<known_hosts::answer> known_hosts::look_up_next(std::uint64_t epoch) {
  const auto taken = take();
  if (!taken) return std::nullopt;
  auto& about = hosts_[*taken];
  std::string failure;
  auto found = resolve({about.name}, failure);
  std::unique_lock lock{mutex_};
  about.is_asked = false;
  const bool is_news = !failure.empty() && failure != about.failure;
  learn(about, std::move(found), failure);
  auto now = addresses();
  answer with;
  if (epoch == epoch_ && !now.empty() && now != given_) {
    given_ = std::move(now);
    with.moved = to_list(given_);
  }
  lock.unlock();
  if (is_news) say(failure);
  return with;
}

void known_hosts::learn(host& about, std::vector<std::string> addresses, std::string failure) {
  if (!addresses.empty()) about.addresses = std::move(addresses);
  about.failure = std::move(failure);
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

}  // namespace latchkey::detail
