// SPDX-License-Identifier: Apache-2.0
#include "simulation/death_checker.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include <fmt/format.h>

namespace latchkey::testing {
namespace {

using complaints = std::vector<std::string>;
using grants_in_order = std::vector<const grant_record*>;

/// Of one robust lock: who may be told of next.
class deaths {
 public:
  using czxid = std::optional<std::int64_t>;

  deaths(grants_in_order grants, complaints& found) : grants_{std::move(grants)}, found_{found} {}

  void take(const robust_record_change& what) {
    using enum robust_record_change::change;
    switch (what.what) {
      case named:
        if (is_ != record::own || !named_.contains(what.owner)) named_[what.owner] = next_;
        is_ = record::own;
        break;
      case restored:
        is_ = record::own;
        break;
      case left:
        if (!named_.contains(what.owner)) break;
        compare(what.owner);
        next_ = is_ == record::none ? options{czxid{}} : left_by(what.owner);
        break;
      case died:
        if (!named_.contains(what.owner)) break;
        compare(what.owner);
        next_ = left_by(what.owner);  // in order, if nobody had it any more; but that may not be known
        next_.insert(dead(what.owner));
        break;
      case forgotten:
        is_ = record::none;
        next_ = options{czxid{}};
        break;
      case overwritten:
        is_ = record::foreign;
        next_ = options{czxid{0}};
    }
  }

  void end() {
    for (const auto& [owner, told] : named_) {
      if (!compared_.contains(owner)) compare(owner);
    }
    for (const auto* const each : grants_) {
      if (!named_.contains(each->fence.czxid)) found_.push_back(fmt::format("record: {} without one", name(*each)));
    }
  }

 private:
  using options = std::set<czxid>;
  enum class record { none, own, foreign };

  template <class Callable>
  void for_each_of(std::int64_t owner, Callable what) const {
    for (const auto* const each : grants_) {
      if (each->fence.czxid == owner) what(*each);
    }
  }

  /// Its first grant tells which of them it was.
  void compare(std::int64_t owner) {
    compared_.insert(owner);
    auto& known = named_.at(owner);
    bool recovered = false;
    for_each_of(owner, [&](const grant_record& each) {
      if (recovered ? each.told_of.has_value() : !known.contains(each.told_of))
        found_.push_back(fmt::format("death: {} is told of {:x}", name(each), each.told_of.value_or(0)));
      if (!recovered && known.size() > 1) known = {each.told_of};
      recovered = recovered || each.recovered;
    });
  }

  /// An owner that no caller has ever had may have lost its place before it could leave it.
  options left_by(std::int64_t owner) const {
    bool any = false;
    bool in_order = true;
    bool recovered = false;
    for_each_of(owner, [&](const grant_record& each) {
      any = true;
      in_order = in_order && each.in_order;
      recovered = recovered || each.recovered;
    });
    if (!in_order) return {dead(owner)};
    auto left = recovered ? options{czxid{}} : named_.at(owner);
    if (!any) left.insert(dead(owner));
    return left;
  }
  czxid dead(std::int64_t owner) const {
    return is_ == record::own ? czxid{owner} : is_ == record::foreign ? czxid{0} : czxid{};
  }

  const grants_in_order grants_;
  complaints& found_;
  options next_{czxid{}};
  std::map<std::int64_t, options> named_;  // of each owner: what may have been told to it
  std::set<std::int64_t> compared_;
  record is_ = record::none;
};

}  // namespace

void check_deaths(const history_log& log, complaints& found) {
  std::map<unsigned, grants_in_order> robust;
  for (const auto& each : log.grants) {
    if (each.robust) robust[each.lock].push_back(&each);
  }
  for (const auto& [lock, grants] : robust) {
    deaths of_lock{grants, found};
    for (const auto& each : log.robust) {
      if (each.lock == lock) of_lock.take(each);
    }
    of_lock.end();
  }
}

}  // namespace latchkey::testing
