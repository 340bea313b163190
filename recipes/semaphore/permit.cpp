// SPDX-License-Identifier: Apache-2.0
#include "recipes/semaphore/permit.hpp"

#include <algorithm>
#include <utility>

#include "base/path.hpp"
#include "recipes/rules.hpp"

namespace latchkey::detail {
namespace {

bool is_among(const std::vector<std::string>& children, const queue_entry& lease) {
  return !lease.node().empty() &&
         std::find(children.begin(), children.end(), last_component(lease.node())) != children.end();
}

}  // namespace

permit::permit(std::shared_ptr<client_core> core, std::shared_ptr<const std::string> leases, std::uint32_t count,
               permit_owner& owner)
    : core_{std::move(core)}, path_{std::move(leases)}, owner_{&owner} {
  leases_.reserve(count);
  for (std::uint32_t i = 0; i < count; ++i) {
    leases_.push_back(std::make_shared<queue_entry>(core_, path_, rule_of(contender_kind::permit), *this));
  }
}

void permit::start(std::unique_ptr<kept_node> along) {
  const auto self = shared_from_this();
  for (const auto& each : std::vector{leases_}) each->start(patience::keep, std::move(along));
}

void permit::leave() {
  for (const auto& each : std::exchange(leases_, {})) each->leave();
}

void permit::trim(std::uint32_t count) {
  while (leases_.size() > count) {
    leases_.back()->leave();
    leases_.pop_back();
  }
}

bool permit::ready() const noexcept {
  return !leases_.empty() &&
         std::all_of(leases_.begin(), leases_.end(), [](const auto& each) { return each->granted(); });
}

bool permit::refresh(time_point now) {
  const auto self = shared_from_this();
  bool fresh = true;
  for (const auto& each : std::vector{leases_}) fresh = each->granted() && each->refresh(now) && fresh;
  return fresh;
}

void permit::stop_proving() {
  for (const auto& each : leases_) {
    if (each->granted()) each->stop_proving();
  }
}

bool permit::is_in(const std::vector<std::string>& children) const {
  return !leases_.empty() &&
         std::all_of(leases_.begin(), leases_.end(), [&](const auto& each) { return is_among(children, *each); });
}

void permit::look_at_missing(const std::vector<std::string>& children) {
  const auto now = core_->monitor().now();
  for (const auto& each : std::vector{leases_}) {
    if (each->granted() && !is_among(children, *each)) each->refresh(now);  // the next proof tells
  }
}

std::uint32_t permit::last_number() const {
  std::uint32_t last = 0;
  for (const auto& each : leases_) {
    last = std::max(last, rule_of(contender_kind::permit).number(last_component(each->node())).value_or(0));
  }
  return last;
}

bool permit::are_newer_than(std::int64_t zxid) const noexcept {
  return std::all_of(leases_.begin(), leases_.end(), [&](const auto& each) { return each->fence(0).czxid > zxid; });
}

void permit::on_granted() {
  if (ready()) owner_->on_ready(*this);
}

void permit::on_delayed() { owner_->on_delayed(); }

void permit::on_suspect() {
  if (held) held->grant->suspect();
}

void permit::on_failed(const failure& why) {
  const auto self = shared_from_this();
  leave();
  if (held) held->grant->lose(loss_reason::access_revoked);
  owner_->on_failed(why);
}

void permit::on_asked_to_release() {
  asked_to_release_ = true;
  if (held) held->grant->ask_to_release();
}

void permit::end(loss_reason why) {
  const auto self = shared_from_this();
  leave();
  owner_->on_over(*this, why);
}

}  // namespace latchkey::detail
