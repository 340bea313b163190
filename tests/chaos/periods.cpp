// SPDX-License-Identifier: Apache-2.0
#include "periods.hpp"

#include <algorithm>
#include <charconv>
#include <map>
#include <set>
#include <utility>

namespace chaos {

namespace {

clock::time_point lease_of(const event& what) {
  clock::rep count = 0;
  std::from_chars(what.text.data(), what.text.data() + what.text.size(), count);
  return clock::time_point{clock::duration{count}};
}

/// Reads the events one after the other.
class reader {
 public:
  explicit reader(const history& all) : periods_(static_cast<std::size_t>(all.locks)) {}

  void read(const event& what) {
    switch (what.kind) {
      case event_kind::waits:
        if (!in_line_.contains(what.who)) called_[what.who] = what.at;  // else it waits with its ticket
        break;
      case event_kind::queued:
        in_line_.insert(what.who);
        break;
      case event_kind::left:
      case event_kind::failed:
        in_line_.erase(what.who);
        break;
      case event_kind::granted:
        in_line_.erase(what.who);
        begin(what);
        break;
      case event_kind::missed:
        in_line_.erase(what.who);
        go_on(what);
        break;
      case event_kind::held:
      case event_kind::weakens:
      case event_kind::lost:
      case event_kind::unlocks:
        go_on(what);
        break;
      default:
        break;
    }
  }

  std::vector<std::vector<period>> take() {
    for (auto& of_lock : periods_) {
      // A writer that became a reader is one since it began to.
      std::stable_sort(of_lock.begin(), of_lock.end(),
                       [](const period& a, const period& b) { return a.granted < b.granted; });
    }
    return std::move(periods_);
  }

 private:
  void begin(const event& what) {
    auto& of_lock = periods_[static_cast<std::size_t>(what.lock)];
    auto since = what.at;
    if (const auto found = current_.find(what.who); found != current_.end()) {
      auto& writer = of_lock[found->second];
      writer.over = what.at;
      since = writer.weakened.value_or(since);
    }
    current_[what.who] = of_lock.size();
    of_lock.push_back({.who = what.who,
                       .lock = what.lock,
                       .how = what.how,
                       .token = what.token,
                       .called = called_[what.who],
                       .granted = since,
                       .seen = what.at,
                       .valid_until = lease_of(what),
                       .over = {},
                       .loss = {},
                       .weakened = {},
                       .struck = {},
                       .told = {}});
  }

  void go_on(const event& what) {
    const auto found = current_.find(what.who);
    if (found == current_.end()) return;  // lost before the first look
    auto& one = periods_[static_cast<std::size_t>(what.lock)][found->second];
    if (what.kind == event_kind::held) {
      one.seen = what.at;
      one.valid_until = std::max(one.valid_until, lease_of(what));
      return;
    }
    if (what.kind == event_kind::weakens) {
      one.weakened = what.at;
      return;
    }
    if (!one.over) one.over = what.at;
    if (what.kind == event_kind::lost) one.loss = what.text;
    if (what.kind == event_kind::unlocks) current_.erase(found);
  }

  std::map<std::string, clock::time_point> called_;
  std::set<std::string> in_line_;               // those who have a ticket
  std::map<std::string, std::size_t> current_;  // a fiber holds one lock at a time
  std::vector<std::vector<period>> periods_;
};

call::outcome outcome_of(event_kind kind) {
  switch (kind) {
    case event_kind::refused:
      return call::outcome::refused;
    case event_kind::failed:
      return call::outcome::failed;
    case event_kind::missed:
      return call::outcome::missed;
    case event_kind::granted:
      return call::outcome::granted;
    case event_kind::queued:
      return call::outcome::queued;
    case event_kind::left:
      return call::outcome::left;
    default:
      return call::outcome::none;
  }
}

}  // namespace

std::vector<call> calls_of(const history& all) {
  std::vector<call> calls;
  std::map<std::string, std::size_t> current;
  for (const auto& what : all.events) {
    if (what.kind == event_kind::waits) {
      current[what.who] = calls.size();
      calls.push_back({what.who, what.lock, what.how, what.text, what.at, what.at});
      continue;
    }
    const auto outcome = outcome_of(what.kind);
    const auto found = current.find(what.who);
    if (outcome == call::outcome::none || found == current.end()) continue;
    calls[found->second].what = outcome;
    calls[found->second].end = what.at;
    current.erase(found);
  }
  return calls;
}

std::vector<place> places_of(const history& all) {
  std::vector<place> places;
  std::map<std::string, std::size_t> current;
  for (const auto& what : all.events) {
    const auto found = current.find(what.who);
    const bool in_line = found != current.end();
    switch (what.kind) {
      case event_kind::waits:
        if (in_line || all.family_of(what.lock) != family::fair) break;  // waits with its ticket
        current[what.who] = places.size();
        places.push_back({what.who, what.lock, what.at, {}, {}});
        break;
      case event_kind::queued:
        if (in_line) places[found->second].queued = what.at;
        break;
      case event_kind::granted:
        if (in_line) places[found->second].granted = what.at;
        current.erase(what.who);
        break;
      case event_kind::refused:  // a ticket keeps its place
        if (in_line && !places[found->second].queued) current.erase(found);
        break;
      case event_kind::left:
      case event_kind::failed:
      case event_kind::missed:
        current.erase(what.who);
        break;
      default:
        break;
    }
  }
  return places;
}

namespace {

/// @returns whether the news of a deletion may have come late: another fault was in the way of its process.
bool is_delayed(const fault& deletion, const period& of_owner, const history& all) {
  constexpr std::chrono::seconds aftermath{5};  // of a fault: until its victims are connected again
  return std::any_of(all.faults.begin(), all.faults.end(), [&](const fault& what) {
    const bool concerns = strikes(what, of_owner.who) || what.victim.starts_with("server") || what.victim == "workers";
    return what.lock < 0 && concerns && what.begin <= of_owner.seen && what.end + aftermath >= deletion.begin;
  });
}

/// A fault from outside that meets the period, or the call that led to it.
void strike(period& one, const fault& what, const history& all, clock::duration deletion) {
  if (!what.from_outside || !strikes(what, one.who)) return;
  if (what.lock >= 0 && what.lock != one.lock) return;
  if (what.begin > std::max(one.seen, one.valid_until) || what.end < one.called) return;
  const bool late = what.lock < 0 || is_delayed(what, one, all) || (one.struck && !one.told);
  if (late) {
    one.told.reset();
  } else {
    one.told = std::max(one.told.value_or(what.end + deletion), what.end + deletion);
  }
  one.struck = std::min(what.begin, one.struck.value_or(what.begin));
}

/// The callers of one object take turns on one node: what has struck it strikes those who come later.
void pass_on(std::vector<period>& of_lock) {
  std::map<std::pair<std::string, std::int64_t>, const period*> struck;
  for (auto& one : of_lock) {
    const auto*& before = struck[{std::string{process_of(one.who)}, one.token.czxid}];
    if (before != nullptr && before->excused(one.granted)) {
      const bool late = !before->told || (one.struck && !one.told);
      one.told = late ? std::nullopt : std::max(one.told, before->told);
      one.struck = std::min(one.struck.value_or(*before->struck), *before->struck);
    }
    if (one.struck) before = &one;
  }
}

}  // namespace

std::vector<std::vector<period>> periods_of(const history& all, clock::duration deletion) {
  reader events{all};
  for (const auto& what : all.events) events.read(what);
  auto periods = events.take();
  for (auto& of_lock : periods) {
    for (auto& one : of_lock) {
      for (const auto& what : all.faults) strike(one, what, all, deletion);
    }
    pass_on(of_lock);
  }
  return periods;
}

bool strikes(const fault& what, std::string_view who) noexcept {
  const auto process = process_of(who);
  return what.victim == process || what.victim == process.substr(0, process.find('.'));
}

}  // namespace chaos
