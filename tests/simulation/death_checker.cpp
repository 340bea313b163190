// SPDX-License-Identifier: Apache-2.0
#include "simulation/death_checker.hpp"

#include <cstdint>
#include <iterator>
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
  using token = std::optional<fencing_token>;

  /// @param owners all that the record has ever named
  deaths(grants_in_order grants, std::set<fencing_token> owners, complaints& found)
      : grants_{std::move(grants)}, owners_{std::move(owners)}, found_{found} {}

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
        next_ = is_ == record::none ? options{token{}} : left_by(what.owner);
        break;
      case died:
        if (!named_.contains(what.owner)) break;
        compare(what.owner);
        next_ = left_by(what.owner);  // in order, if nobody had it any more; but that may not be known
        next_.insert(dead(what.owner));
        break;
      case forgotten:
        is_ = record::none;
        next_ = options{token{}};
        break;
      case overwritten:
        is_ = record::foreign;
        next_ = options{token{fencing_token{}}};
    }
  }

  void end() {
    for (const auto& [owner, told] : named_) {
      if (!compared_.contains(owner)) compare(owner);
    }
    std::map<fencing_token, std::int64_t> places;
    for (const auto* const each : grants_) {
      const auto owner = owner_of(*each);
      const bool is_turn =
          owner && (each->place < 0 || places.try_emplace(*owner, each->place).first->second == each->place);
      if (!is_turn) found_.push_back(fmt::format("record: {} without one", name(*each)));
    }
  }

 private:
  using options = std::set<token>;
  enum class record { none, own, foreign };

  /// An owner that follows directly on a former one goes on with its token.
  token owner_of(const grant_record& of) const {
    const auto next = owners_.upper_bound(of.fence);
    const bool is_known = next != owners_.begin() && std::prev(next)->czxid == of.fence.czxid;
    return is_known ? token{*std::prev(next)} : token{};
  }
  template <class Callable>
  void for_each_of(fencing_token owner, Callable what) const {
    for (const auto* const each : grants_) {
      if (owner_of(*each) == owner) what(*each);
    }
  }

  /// Its first grant tells which of them it was.
  void compare(fencing_token owner) {
    compared_.insert(owner);
    auto& known = named_.at(owner);
    bool recovered = false;
    for_each_of(owner, [&](const grant_record& each) {
      if (recovered ? each.told_of.has_value() : !known.contains(each.told_of))
        found_.push_back(
            fmt::format("death: {} is told of {}", name(each), to_string(each.told_of.value_or(fencing_token{}))));
      if (!recovered && known.size() > 1) known = {each.told_of};
      recovered = recovered || each.recovered;
    });
  }

  /// An owner that no caller has ever had may have lost its place before it could leave it.
  options left_by(fencing_token owner) const {
    bool any = false;
    bool in_order = true;
    bool recovered = false;
    for_each_of(owner, [&](const grant_record& each) {
      any = true;
      in_order = in_order && each.in_order;
      recovered = recovered || each.recovered;
    });
    if (!in_order) return {dead(owner)};
    auto left = recovered ? options{token{}} : named_.at(owner);
    if (!any) left.insert(dead(owner));
    return left;
  }
  token dead(fencing_token owner) const {
    return is_ == record::own ? token{owner} : is_ == record::foreign ? token{fencing_token{}} : token{};
  }

  const grants_in_order grants_;
  const std::set<fencing_token> owners_;
  complaints& found_;
  options next_{token{}};
  std::map<fencing_token, options> named_;  // of each owner: what may have been told to it
  std::set<fencing_token> compared_;
  record is_ = record::none;
};

}  // namespace

void check_deaths(const history_log& log, complaints& found) {
  std::map<unsigned, grants_in_order> robust;
  for (const auto& each : log.grants) {
    if (each.robust) robust[each.lock].push_back(&each);
  }
  for (const auto& [lock, grants] : robust) {
    std::vector<robust_record_change> changes;
    std::set<fencing_token> owners;
    for (const auto& each : log.robust) {
      if (each.lock != lock) continue;
      changes.push_back(each);
      if (each.what == robust_record_change::change::named) owners.insert(each.owner);
    }
    deaths of_lock{grants, std::move(owners), found};
    for (const auto& each : changes) of_lock.take(each);
    of_lock.end();
  }
}

}  // namespace latchkey::testing
