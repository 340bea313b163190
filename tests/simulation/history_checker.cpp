// SPDX-License-Identifier: Apache-2.0
#include "simulation/history_checker.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <utility>

#include <fmt/chrono.h>
#include <fmt/format.h>

#include "exclusion/overlap.hpp"
#include "recipes/rules.hpp"
#include "simulation/death_checker.hpp"

namespace latchkey::testing {
namespace {

using detail::contender_kind;
using complaints = std::vector<std::string>;
using grants_in_order = std::vector<const grant_record*>;

double seconds(detail::time_point time) { return std::chrono::duration<double>(time.time_since_epoch()).count(); }

std::int64_t place_of(const grant_record& grant) { return grant.place != 0 ? grant.place : grant.fence.czxid; }

std::string name(const call_record& call) {
  return fmt::format("call of client {} on lock {}, object {}, entered at {:.6f}s (instant {})", call.client, call.lock,
                     call.object, seconds(call.entered_at), call.entered);
}

/// In the order in which they were given, sorted by `key`.
template <class Key>
auto sorted_by(const history_log& log, Key key) {
  std::map<decltype(key(log.grants.front())), grants_in_order> sorted;
  for (const auto& each : log.grants) sorted[key(each)].push_back(&each);
  for (auto& [by, grants] : sorted) {
    std::stable_sort(grants.begin(), grants.end(),
                     [](const auto* a, const auto* b) { return a->granted < b->granted; });
  }
  return sorted;
}

holding<std::uint64_t> held_until(std::uint64_t instant, const grant_record& each) {
  return {each.granted, instant, each.kind != contender_kind::read};
}

/// Writers exclude all, readers overlap readers only. An operator who deletes a node may make its owner overlap with
/// others, for as long as it takes to hear of that.
void check_exclusion(const grants_in_order& grants, complaints& found) {
  const auto valid = [](const auto* each) { return held_until(each->last_valid + 1, *each); };
  for_each_overlap(grants, valid, [&](const auto* before, const auto* each) {
    const auto end = std::min(before->last_valid_at, each->last_valid_at);
    if (before->is_excused(each->granted_at, end) || each->is_excused(each->granted_at, end)) return;
    found.push_back(fmt::format("exclusion: {} while {} was valid", name(*each), name(*before)));
  });
}

/// Permits: no more are valid than there are, nor held by the callers of one object.
void check_permits(const grants_in_order& grants, bool of_object, complaints& found) {
  const auto held = [&](const auto* each) {
    return share<std::uint64_t>{each->granted, of_object ? each->unlocked : each->last_valid + 1, each->permits};
  };
  const auto excused = [&](const auto* before, const auto* each) {
    const auto end = std::min(before->last_valid_at, each->last_valid_at);
    return !of_object && (before->is_excused(each->granted_at, end) || each->is_excused(each->granted_at, end));
  };
  for_each_excess(grants, grants.front()->of, held, excused, [&](const auto* each, std::uint64_t sum) {
    found.push_back(fmt::format("permits: {}, when {} of {} were held", name(*each), sum, each->of));
  });
}

bool counts_permits(const grants_in_order& grants) {
  return std::any_of(grants.begin(), grants.end(), [](const auto* each) { return each->of > 1; });
}

/// Whatever has been lost: callers of one object are let in once those before them have unlocked.
void check_local_exclusion(const grants_in_order& grants, complaints& found) {
  const auto locked = [](const auto* each) { return held_until(each->unlocked, *each); };
  for_each_overlap(grants, locked, [&](const auto* before, const auto* each) {
    if (before->call == each->call) return;  // the locks of a group
    found.push_back(fmt::format("overlap: {} before {} was unlocked", name(*each), name(*before)));
  });
}

/// They grow from grant to grant, but for those of readers among themselves.
void check_tokens(const grants_in_order& grants, complaints& found) {
  std::array<const grant_record*, 2> largest{};  // so far: of the others, and of readers
  for (const auto* const each : grants) {
    if (each->deleted()) continue;
    const bool reads = each->kind == contender_kind::read;
    for (const auto* const before : {largest[0], reads ? nullptr : largest[1]}) {
      if (!before || each->fence > before->fence) continue;
      found.push_back(fmt::format("tokens: {} after {}", name(*each), name(*before)));
    }
    if (!largest[reads] || each->fence > largest[reads]->fence) largest[reads] = each;
  }
}

/// None is given twice to readers: for all others, that follows from the order.
void check_unique(const grants_in_order& grants, complaints& found) {
  std::map<fencing_token, const grant_record*> seen;
  for (const auto* const each : grants) {
    if (each->kind == contender_kind::read && !seen.emplace(each->fence, each).second) {
      found.push_back(fmt::format("unique: {} has the token of an earlier one", name(*each)));
    }
  }
}

/// From writer to reader without anybody in between.
void check_downgrades(const history_log& log, const grants_in_order& grants, complaints& found) {
  for (const auto* const each : grants) {
    if (!each->downgraded_from || each->deleted()) continue;
    const auto& writer = log.grants[*each->downgraded_from];
    for (const auto* const other : grants) {
      if (other->kind == contender_kind::read || other->deleted()) continue;
      if (other->granted <= writer.granted || other->granted > each->granted) continue;
      found.push_back(fmt::format("downgrade: {} between {} and its reader", name(*other), name(writer)));
    }
  }
}

/// A place is passed on for as long as nobody is kept waiting for it, then for so many turns; readers, who share one,
/// are not joined any more.
void check_starvation(const grants_in_order& grants, complaints& found) {
  std::map<std::pair<std::int64_t, std::int64_t>, std::uint32_t> passed;  // place, who waits behind
  for (const auto* const each : grants) {
    const auto most = each->kind == contender_kind::read ? 0 : each->turns;
    for (const auto waiting : each->kept_waiting) {
      if (++passed[{place_of(*each), waiting}] != most + 1) continue;
      found.push_back(fmt::format("starvation: {} keeps the place {:x} waiting any longer", name(*each), waiting));
    }
  }
}

/// A place that somebody has asked for is not passed on once its holder has seen that.
void check_revocation(const grants_in_order& grants, complaints& found) {
  std::map<std::int64_t, const grant_record*> asked;  // by place, the first that unlocked it then
  for (const auto* const each : grants) {
    if (!each->asked_to_release) continue;
    auto& first = asked[place_of(*each)];
    if (!first || each->unlocked < first->unlocked) first = each;
  }
  for (const auto* const each : grants) {
    const auto at = asked.find(place_of(*each));
    if (at == asked.end() || each->granted < at->second->unlocked || each == at->second) continue;
    if (each->downgraded_from) continue;  // that is no unlock
    found.push_back(fmt::format("revocation: {} after {} was asked for", name(*each), name(*at->second)));
  }
}

/// What is held for too long ends then, and not earlier.
void check_holds(const grants_in_order& grants, complaints& found) {
  for (const auto* const each : grants) {
    if (each->outstayed) found.push_back(fmt::format("hold: {}, valid for too long", name(*each)));
    if (!each->ended_at) continue;
    if (each->max_hold == detail::duration::zero() || *each->ended_at < each->granted_at + each->max_hold) {
      found.push_back(fmt::format("hold: {}, said to be held too long {} before its time was over", name(*each),
                                  each->granted_at + each->max_hold - *each->ended_at));
    }
  }
}

void check_nodes(const grants_in_order& grants, complaints& found) {
  for (const auto* const each : grants) {
    const bool is_excused = each->is_excused(each->granted_at, each->granted_at);
    if (each->node_missing && !is_excused) {
      found.push_back(fmt::format("node: {}, whose node is not there", name(*each)));
    }
    if (each->outlived_node && !each->deleted()) {
      found.push_back(fmt::format("validity: {}, still valid when its node went", name(*each)));
    }
    if (each->sees_old_data && !is_excused) {
      found.push_back(fmt::format("reads: {}, before its server has what the holder before it wrote", name(*each)));
    }
    if (each->overtaken > 0 && !is_excused) {
      found.push_back(fmt::format("order: {}, ahead of {} older nodes", name(*each), each->overtaken));
    }
  }
}

/// The callers of one object that wait are let in as they came; readers also together.
void check_local_order(const history_log& log, const grants_in_order& grants, complaints& found) {
  struct sequence {
    const call_record* newest = nullptr;  // of those let in before `instant`
    const call_record* here = nullptr;    // of those let in then
    std::uint64_t instant = 0;
  };
  const auto later = [](const call_record* a, const call_record* b) { return !b || (a && a->entered > b->entered); };
  std::array<sequence, 5> of_kinds;
  for (const auto* const each : grants) {
    const auto& call = log.calls[each->call];
    if (!call.in_turn) continue;
    auto& kind = of_kinds[static_cast<std::size_t>(call.kind)];
    if (each->granted != kind.instant) {
      if (later(kind.here, kind.newest)) kind.newest = kind.here;
      kind.here = nullptr;
      kind.instant = each->granted;
    }
    if (kind.newest && kind.newest->entered > call.entered) {
      found.push_back(fmt::format("turns: {} was let in after {}", name(call), name(*kind.newest)));
    }
    if (later(&call, kind.here)) kind.here = &call;
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

/// When it is committed, no other client has been granted the lock that had to wait for this grant: also if an operator
/// has deleted its node. (Who waits in the same client may be let in before, and writes behind it, on the same session.)
void check_write(const history_log& log, std::size_t number, detail::time_point time, complaints& found) {
  const auto& write = log.commits[number];
  const auto& mine = log.grants[write.grant];
  for (const auto& each : log.grants) {
    if (each.lock != mine.lock || each.client == mine.client || each.granted_at >= time) continue;
    if ((write.reads && each.kind == contender_kind::read) || each.fence < mine.fence) continue;
    found.push_back(fmt::format("commits: {} under {} after {}", number, to_string(write.fence), name(each)));
  }
}

/// The outcome says what the ensemble has, and who has had a lock later writes later.
void check_commits(const history_log& log, complaints& found) {
  using outcome = commit_result::outcome;
  std::vector<std::size_t> times(log.commits.size());
  std::map<unsigned, std::array<fencing_token, 2>> largest;  // by lock: of writers, and of readers
  for (const auto& [number, time] : log.writes) {
    const auto& each = log.commits[number];
    check_write(log, number, time, found);
    ++times[number];
    auto& [of_writers, of_readers] = largest[each.lock];
    if (each.fence < of_writers || (!each.reads && each.fence < of_readers))
      found.push_back(fmt::format("commits: {} under {} is behind a later grant", number, to_string(each.fence)));
    auto& mine = each.reads ? of_readers : of_writers;
    mine = std::max(mine, each.fence);
  }
  for (std::size_t i = 0; i < times.size(); ++i) {
    const auto& each = log.commits[i];
    const bool doubt = each.what == outcome::in_doubt;
    const bool written = times[i] != 0;
    if (!each.what && !each.failed) found.push_back(fmt::format("commits: {} has no end", i));
    if (times[i] > 1) found.push_back(fmt::format("commits: {} is there {} times", i, times[i]));
    if (!doubt && written != (each.what == outcome::committed)) {
      found.push_back(fmt::format("commits: {} is {}, and was {}written", i,
                                  each.what ? to_string(*each.what) : "failed", written ? "" : "not "));
    }
  }
}

}  // namespace

std::string name(const grant_record& grant) {
  return fmt::format("grant {} ({}) of lock {} to client {} at {:.6f}s (instants {} to {})", to_string(grant.fence),
                     to_string(grant.kind), grant.lock, grant.client, seconds(grant.granted_at), grant.granted,
                     grant.last_valid);
}

std::vector<std::string> violations(const history_log& log) {
  complaints found;
  for (const auto& [lock, grants] : sorted_by(log, [](const auto& each) { return each.lock; })) {
    if (counts_permits(grants)) {
      check_permits(grants, false, found);
    } else {
      check_exclusion(grants, found);
      check_tokens(grants, found);
    }
    check_unique(grants, found);
    check_downgrades(log, grants, found);
    check_starvation(grants, found);
    check_revocation(grants, found);
    check_nodes(grants, found);
    check_holds(grants, found);
  }
  for (const auto& [object, grants] : sorted_by(log, [&](const auto& each) { return log.calls[each.call].object; })) {
    if (counts_permits(grants)) {
      check_permits(grants, true, found);
    } else {
      check_local_exclusion(grants, found);
    }
    check_local_order(log, grants, found);
  }
  check_calls(log, found);
  check_commits(log, found);
  check_deaths(log, found);
  for (const auto& each : log.leftovers) found.push_back("left behind: " + each);
  return found;
}

}  // namespace latchkey::testing
