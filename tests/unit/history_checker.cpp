// SPDX-License-Identifier: Apache-2.0
#include "history_checker.hpp"

#include <algorithm>
#include <map>

#include <fmt/format.h>

namespace latchkey::testing {
namespace {

using complaints = std::vector<std::string>;

double seconds(detail::time_point time) { return std::chrono::duration<double>(time.time_since_epoch()).count(); }

std::string name(const grant_record& grant) {
  return fmt::format("grant {} of lock {} to client {} at {:.6f}s (instants {} to {})", to_string(grant.fence),
                     grant.lock, grant.client, seconds(grant.granted_at), grant.granted, grant.last_valid);
}

std::string name(const call_record& call) {
  return fmt::format("call of client {} on lock {}, object {}, entered at {:.6f}s (instant {})", call.client, call.lock,
                     call.object, seconds(call.entered_at), call.entered);
}

/// In the order in which they were given, the grants of each lock.
std::map<unsigned, std::vector<const grant_record*>> by_lock(const history_log& log) {
  std::map<unsigned, std::vector<const grant_record*>> sorted;
  for (const auto& each : log.grants) sorted[each.lock].push_back(&each);
  for (auto& [lock, grants] : sorted) {
    std::stable_sort(grants.begin(), grants.end(),
                     [](const auto* a, const auto* b) { return a->granted < b->granted; });
  }
  return sorted;
}

void check_exclusion(const std::vector<const grant_record*>& grants, complaints& found) {
  const grant_record* longest = nullptr;
  for (const auto* const each : grants) {
    if (longest && longest->last_valid >= each->granted && !each->deleted) {
      found.push_back(fmt::format("exclusion: {} while {} was valid", name(*each), name(*longest)));
    }
    if (!each->deleted && (!longest || each->last_valid > longest->last_valid)) longest = each;
  }
}

void check_tokens(const std::vector<const grant_record*>& grants, complaints& found) {
  for (std::size_t i = 1; i < grants.size(); ++i) {
    if (grants[i]->fence > grants[i - 1]->fence || grants[i]->deleted) continue;
    found.push_back(fmt::format("tokens: {} after {}", name(*grants[i]), name(*grants[i - 1])));
  }
}

void check_nodes(const std::vector<const grant_record*>& grants, complaints& found) {
  for (const auto* const each : grants) {
    if (each->node_missing) found.push_back(fmt::format("node: {}, whose node is not there", name(*each)));
    if (each->outlived_node && !each->deleted) {
      found.push_back(fmt::format("validity: {}, still valid when its node went", name(*each)));
    }
    if (each->overtaken > 0)
      found.push_back(fmt::format("order: {}, ahead of {} older nodes", name(*each), each->overtaken));
  }
}

/// The callers of one object that wait are let in as they came.
void check_local_order(const history_log& log, complaints& found) {
  std::map<unsigned, const grant_record*> newest;  // by object
  std::vector<const grant_record*> grants;
  for (const auto& each : log.grants) grants.push_back(&each);
  std::stable_sort(grants.begin(), grants.end(), [](const auto* a, const auto* b) { return a->granted < b->granted; });
  for (const auto* const each : grants) {
    const auto& call = log.calls[each->call];
    auto& before = newest[call.object];
    if (before && log.calls[before->call].entered > call.entered) {
      found.push_back(fmt::format("turns: {} was let in after {}", name(call), name(log.calls[before->call])));
    }
    before = each;
  }
}

void check_calls(const history_log& log, complaints& found) {
  for (const auto& each : log.calls) {
    if (each.what == call_record::outcome::waiting) {
      found.push_back(fmt::format("wake-up: {} never returned", name(each)));
    } else if (each.finished_at > each.deadline) {
      found.push_back(fmt::format("deadline: {} returned at {:.6f}s, {:.6f}s late", name(each),
                                  seconds(each.finished_at),
                                  std::chrono::duration<double>(each.finished_at - each.deadline).count()));
    }
    if (each.what == call_record::outcome::refused && !each.once && !each.cancelled &&
        each.finished_at < each.deadline) {
      found.push_back(fmt::format("patience: {} was refused although it could have waited", name(each)));
    }
    if (each.what != call_record::outcome::failed || each.may_fail) continue;
    found.push_back(fmt::format("failure: {}: {}", name(each), each.failure));
  }
}

}  // namespace

std::vector<std::string> violations(const history_log& log) {
  complaints found;
  for (const auto& [lock, grants] : by_lock(log)) {
    check_exclusion(grants, found);
    check_tokens(grants, found);
    check_nodes(grants, found);
  }
  check_local_order(log, found);
  check_calls(log, found);
  for (const auto& each : log.leftovers) found.push_back("left behind: " + each);
  return found;
}

}  // namespace latchkey::testing
