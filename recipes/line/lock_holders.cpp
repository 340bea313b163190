// SPDX-License-Identifier: Apache-2.0
#include "recipes/line/lock_holders.hpp"

#include <atomic>
#include <utility>

#include "base/log.hpp"

namespace latchkey::detail {
namespace {

constexpr std::size_t most_spare = 64;
constexpr auto no_fiber = std::uint64_t{1} << 63;

}  // namespace

bool is_fiber(std::uint64_t holder) noexcept { return (holder & no_fiber) == 0; }

std::uint64_t new_holder() noexcept {
  static std::atomic<std::uint64_t> last{0};
  return ++last | no_fiber;
}

hold* lock_holders::find_another(std::uint64_t by) noexcept {
  const auto at = others_->by_who.find(by);
  return at == others_->by_who.end() ? nullptr : &at->second;
}

hold& lock_holders::add_another(std::uint64_t by) {
  if (!others_) others_ = std::make_unique<others>();
  auto& [by_who, spare] = *others_;
  if (spare.empty()) return by_who[by];
  auto again = std::move(spare.back());
  spare.pop_back();
  again.key() = by;
  return by_who.insert(std::move(again)).position->second;
}

void lock_holders::remove_another(const hold& which) {
  auto left = others_->by_who.extract(which.by);
  if (others_->spare.size() < most_spare) others_->spare.push_back(std::move(left));
}

std::uint64_t lock_holders::disown(hold& which) {
  const auto before = std::exchange(which.by, new_holder());
  if (&which != &first_) {
    auto moved = others_->by_who.extract(before);
    moved.key() = which.by;
    others_->by_who.insert(std::move(moved));
  }
  return which.by;
}

bool hold::abandoned() const { return !guarded && is_fiber(by) && has_ended(by); }

void lock_holders::warn_of_holds() {
  bool any = false;
  for_each([&](const hold& each) { any |= !each.grant->ended(); });
  if (!any) return;
  log(log_level::warning,
      "a lock object was destroyed while it held the lock, which is released; unlock it first, or let it outlive its "
      "guard",
      {{"path", *path_}});
}

}  // namespace latchkey::detail
