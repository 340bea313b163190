// SPDX-License-Identifier: Apache-2.0
#include "checker.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <set>
#include <utility>

#include "periods.hpp"
#include "recovery.hpp"

namespace chaos {

namespace {

double milliseconds(clock::duration time) { return std::chrono::duration<double, std::milli>{time}.count(); }

class examination {
 public:
  examination(const history& all, const limits& most)
      : all_{all}, most_{most}, calls_{calls_of(all)}, periods_{periods_of(all)} {}

  std::vector<violation> run() {
    for (const auto& of_lock : periods_) {
      check_overlap(of_lock);
      check_leases(of_lock);
      check_tokens(of_lock);
    }
    check_store();
    check_order();
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

  void check_overlap(const std::vector<period>& all) {
    // Of those so far, the one that was seen last: of those that nobody ended from outside, and of the others.
    const period* latest = nullptr;
    const period* latest_struck = nullptr;
    for (const auto& one : all) {
      for (const auto* before : {latest, latest_struck}) {
        if (before == nullptr || one.granted >= before->seen || before->excused(one.granted)) continue;
        const auto both = std::min(one.seen, before->seen) - one.granted;
        complain(rule::overlap, one.granted, "{} and {} held lock {} at the same time, for {:.3f} ms", before->who,
                 one.who, one.lock, milliseconds(both));
      }
      auto& last = one.struck ? latest_struck : latest;
      if (last == nullptr || one.seen > last->seen) last = &one;
    }
  }

  /// A holder that was killed or stopped looks no more; what it saw last still binds.
  void check_leases(const std::vector<period>& all) {
    for (std::size_t i = 0; i + 1 < all.size(); ++i) {
      const auto& one = all[i];
      const auto next = all[i + 1].granted;
      if (one.excused(next) || one.valid_until <= next || (one.over && *one.over <= next)) continue;
      if (one.seen > next) continue;  // an overlap
      complain(rule::lease, next, "lock {} was granted to {} {:.3f} ms before the lease of {} was over", one.lock,
               all[i + 1].who, milliseconds(one.valid_until - next), one.who);
    }
  }

  void check_tokens(const std::vector<period>& all) {
    const period* largest = nullptr;
    for (const auto& one : all) {
      // Ended from outside before its first look, it may look when the next has looked already.
      const bool excused = one.excused(one.granted) && largest != nullptr && largest->granted >= *one.struck;
      if (largest != nullptr && one.token <= largest->token && !excused) {
        complain(rule::token, one.granted, "lock {}: the token of {}, {}, is not larger than that of {} before it, {}",
                 one.lock, one.who, to_string(one.token), largest->who, to_string(largest->token));
      }
      if (largest == nullptr || one.token > largest->token) largest = &one;
    }
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

  /// First come, first served among the callers of one object that wait for as long as it takes.
  void check_order() {
    std::map<std::pair<std::string, int>, const call*> latest;  // of those that have been served
    for (const auto& one : calls_) {
      if (one.manner != "lock") continue;
      if (one.what != call::outcome::granted && one.what != call::outcome::missed) continue;
      auto& before = latest[{std::string{thread_of(one.who)}, one.lock}];
      if (before != nullptr && one.end < before->end) {
        complain(rule::order, one.end, "lock {} was granted to {}, which came {:.3f} ms after {}, first", one.lock,
                 one.who, milliseconds(one.begin - before->begin), before->who);
      }
      if (before == nullptr || one.end > before->end) before = &one;
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
      return what.kind == "stop worker" && strikes(what, one.who) && what.begin <= one.end && what.end >= one.begin;
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
