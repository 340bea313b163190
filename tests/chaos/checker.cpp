// SPDX-License-Identifier: Apache-2.0
#include "checker.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <iterator>
#include <map>
#include <set>
#include <utility>

#include "exclusion.hpp"
#include "periods.hpp"
#include "recovery.hpp"

namespace chaos {

namespace {

class examination {
 public:
  examination(const history& all, const limits& most)
      : all_{all}, most_{most}, calls_{calls_of(all)}, periods_{periods_of(all, most.deletion)} {}

  std::vector<violation> run() {
    for (const auto& of_lock : periods_) {
      const bool has_tokens = of_lock.empty() || all_.family_of(of_lock.front().lock) != family::foreign;
      auto found = check_exclusion(of_lock, has_tokens);
      std::move(found.begin(), found.end(), std::back_inserter(found_));
    }
    check_store();
    check_order();
    check_lines();
    check_reentries();
    check_timeouts();
    check_answers();
    check_recovery();
    check_events();
    std::stable_sort(found_.begin(), found_.end(), [](const violation& a, const violation& b) { return a.at < b.at; });
    return std::move(found_);
  }

 private:
  template <class... Arguments>
  void complain(rule which, clock::time_point at, fmt::format_string<Arguments...> format, Arguments&&... arguments) {
    found_.push_back({which, at, fmt::format(format, std::forward<Arguments>(arguments)...)});
  }

  void check_store() {
    std::map<int, latchkey::fencing_token> largest;
    for (const auto& what : all_.events) {
      if (what.kind != event_kind::wrote) continue;
      auto& of_lock = largest[what.lock];
      if (what.token >= of_lock) {
        of_lock = what.token;
      } else if (const auto* holder = holder_at(what); holder != nullptr && !holder->excused(what.at)) {
        complain(rule::store, what.at, "the store of lock {} refused the write of {}, which held the lock", what.lock,
                 what.who);
      }
    }
  }

  /// @returns the period of who wrote this, if it saw itself hold the lock afterwards.
  const period* holder_at(const event& write) const {
    for (const auto& one : periods_[static_cast<std::size_t>(write.lock)]) {
      if (one.who == write.who && one.token == write.token && one.seen >= write.at) return &one;
    }
    return nullptr;
  }

  /// First come, first served among the callers of one object that wait for as long as it takes. Not among readers,
  /// who come in together, and not in a fair lock, where the ensemble decides who came first.
  void check_order() {
    std::map<std::pair<std::string, int>, const call*> latest;  // of those that have been served
    for (const auto& one : calls_) {
      if (one.manner != "lock" || one.how == access::shared || all_.family_of(one.lock) == family::fair) continue;
      if (one.what != call::outcome::granted && one.what != call::outcome::missed) continue;
      auto& before = latest[{std::string{thread_of(one.who)}, one.lock}];
      if (before != nullptr && one.end < before->end) {
        complain(rule::order, one.end, "lock {} was granted to {}, which came {:.3f} ms after {}, first", one.lock,
                 one.who, milliseconds(one.begin - before->begin), before->who);
      }
      if (before == nullptr || one.end > before->end) before = &one;
    }
  }

  /// Who has a place in line is served before all who called for one later, whoever they are.
  void check_lines() {
    const auto places = places_of(all_);  // by their beginnings
    std::map<int, std::vector<const place*>> by_queued;
    for (const auto& one : places) {
      if (one.queued && one.granted) by_queued[one.lock].push_back(&one);
    }
    for (auto& [lock, queued] : by_queued) {
      std::sort(queued.begin(), queued.end(), [](const place* a, const place* b) { return *a->queued < *b->queued; });
      auto next = queued.cbegin();
      const place* last = nullptr;  // to be served, of those who had a place already
      for (const auto& one : places) {
        if (one.lock != lock || !one.granted) continue;
        for (; next != queued.cend() && *(*next)->queued <= one.begun; ++next) {
          if (!struck(**next) && (last == nullptr || *(*next)->granted > *last->granted)) last = *next;
        }
        if (last == nullptr || *one.granted >= *last->granted) continue;
        complain(rule::order, *one.granted,
                 "lock {} was granted to {}, which called {:.3f} ms after {} had queued, first", lock, one.who,
                 milliseconds(one.begun - *last->queued), last->who);
      }
    }
  }

  /// A place that was ended from outside may be granted to the next before its holder hears of it.
  bool struck(const place& which) const {
    const auto& of_lock = periods_[static_cast<std::size_t>(which.lock)];
    auto one = std::lower_bound(of_lock.begin(), of_lock.end(), *which.granted,
                                [](const period& each, clock::time_point at) { return each.granted < at; });
    while (one != of_lock.end() && one->granted == *which.granted && one->who != which.who) ++one;
    return one != of_lock.end() && one->who == which.who && one->struck;
  }

  void check_reentries() {
    std::map<std::string, latchkey::fencing_token> held;
    for (const auto& what : all_.events) {
      if (what.kind == event_kind::granted) held[what.who] = what.token;
      if (what.kind == event_kind::unlocks) held.erase(what.who);
      if (what.kind != event_kind::entered) continue;
      const auto found = held.find(what.who);
      if (found != held.end() && found->second == what.token) continue;
      complain(rule::reentry, what.at, "{} took lock {} once more, and its token is {}{}", what.who, what.lock,
               to_string(what.token), found == held.end() ? "" : ", no longer " + to_string(found->second));
    }
  }

  void check_timeouts() {
    for (const auto& one : calls_) {
      if (!one.manner.starts_with("for ") || one.what == call::outcome::none) continue;
      clock::rep count = 0;
      std::from_chars(one.manner.data() + 4, one.manner.data() + one.manner.size(), count);
      const auto late = one.end - one.begin - std::chrono::milliseconds{count};
      if (count == 0 || late <= most_.overdue || was_stopped(one)) continue;
      complain(rule::timeout, one.end, "{}: a call with a timeout of {} ms was {:.0f} ms late", one.who, count,
               milliseconds(late));
    }
  }

  bool was_stopped(const call& one) const {
    return std::any_of(all_.faults.begin(), all_.faults.end(), [&](const fault& what) {
      const bool stops = what.kind == "stop worker" || what.kind == "starve worker";
      return stops && strikes(what, one.who) && what.begin <= one.end && what.end >= one.begin;
    });
  }

  void check_answers() {
    std::set<std::string, std::less<>> closed;
    for (const auto& what : all_.events) {
      if (what.kind == event_kind::closed) closed.insert(what.who);
    }
    for (const auto& one : calls_) {
      if (one.what != call::outcome::none || !closed.contains(process_of(one.who))) continue;
      complain(rule::unanswered, one.begin, "{} called for lock {} ({}), and never came back", one.who, one.lock,
               one.manner);
    }
  }

  void check_recovery() {
    clock::time_point over{};  // all faults up to now
    for (std::size_t i = 0; i < all_.faults.size(); ++i) {
      over = std::max(over, all_.faults[i].end);
      const bool last = i + 1 == all_.faults.size();
      if (last || all_.faults[i + 1].begin > over + most_.recovery) check_peace(over, last);
    }
  }

  void check_peace(clock::time_point begin, bool last) {
    for (int lock = 0; lock < all_.locks; ++lock) {
      const auto& of_lock = periods_[static_cast<std::size_t>(lock)];
      const auto pause = pause_after(begin, of_lock, calls_);
      if (pause > most_.recovery) {
        complain(rule::recovery, begin, "lock {} was granted again only {:.0f} ms after a fault", lock,
                 milliseconds(pause));
      }
      const bool again = !of_lock.empty() && of_lock.back().granted > begin;
      if (last && !again) complain(rule::recovery, begin, "lock {} was never granted again after the last fault", lock);
    }
  }

  void check_events() {
    for (const auto& what : all_.events) {
      switch (what.kind) {
        case event_kind::stopped:
          if (what.text == "over") break;
          complain(rule::told_early, what.at, "{} was asked to stop while it still held lock {}", what.who, what.lock);
          break;
        case event_kind::failed:
        case event_kind::crashed:
        case event_kind::hung:
        case event_kind::leftover:
          complain(rule::failure, what.at, "{} {}: {}", what.who, to_string(what.kind), what.text);
          break;
        default:
          break;
      }
    }
  }

  const history& all_;
  const limits most_;
  const std::vector<call> calls_;
  const std::vector<std::vector<period>> periods_;
  std::vector<violation> found_;
};

}  // namespace

std::string_view to_string(rule which) noexcept {
  switch (which) {
    case rule::overlap:
      return "overlap";
    case rule::lease:
      return "lease";
    case rule::token:
      return "token";
    case rule::store:
      return "store";
    case rule::order:
      return "order";
    case rule::reentry:
      return "reentry";
    case rule::timeout:
      return "timeout";
    case rule::unanswered:
      return "unanswered";
    case rule::recovery:
      return "recovery";
    case rule::told_early:
      return "told early";
    case rule::failure:
      return "failure";
  }
  return "?";
}

std::vector<violation> check(const history& all, const limits& most) { return examination{all, most}.run(); }

}  // namespace chaos
