// SPDX-License-Identifier: Apache-2.0
#include "commands.hpp"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <exception>
#include <iostream>
#include <limits>
#include <mutex>
#include <optional>
#include <set>
#include <thread>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include <latchkey/find_locks.hpp>
#include <latchkey/leader_view.hpp>
#include <latchkey/queue_snapshot.hpp>
#include <latchkey/queue_view.hpp>

#include "deadlocks.hpp"
#include "followed_queue.hpp"
#include "show.hpp"

namespace command {
namespace {

using latchkey::contender;

wall_time now() { return std::chrono::system_clock::now(); }

queue read_queue(const context& with, const std::string& path,
                 std::size_t most = std::numeric_limits<std::size_t>::max()) {
  return queue_of({with.client, path, with.time.left(), most});
}

/// Reads the first contenders of each, several at a time. @throws the first error of them
std::vector<listed_lock> read_each(const context& with, std::vector<latchkey::found_lock> found, std::size_t most) {
  constexpr std::size_t at_once = 16;
  std::vector<listed_lock> all(found.size());
  std::atomic<std::size_t> next{0};
  std::mutex failing;
  std::exception_ptr failed;
  const auto work = [&] {
    try {
      for (auto i = next++; i < found.size(); i = next++) {
        all[i].first = read_queue(with, found[i].path, most);
        all[i].lock = std::move(found[i]);
      }
    } catch (...) {
      next = found.size();
      const std::lock_guard lock{failing};
      if (!failed) failed = std::current_exception();
    }
  };
  {
    std::vector<std::jthread> threads;
    for (std::size_t i = 0; i < std::min(at_once, found.size()); ++i) threads.emplace_back(work);
  }
  if (failed) std::rethrow_exception(failed);
  return all;
}

/// @returns the locks below it, without those that an ACL hides, and says so.
std::vector<latchkey::found_lock> find_all(const context& with, const std::string& root) {
  std::vector<std::string> denied;
  const auto note = [&](const std::string& path) { denied.push_back(path); };
  auto found = latchkey::find_locks(with.client, root, {.on_denied = note}, with.time.left());
  if (std::find(denied.begin(), denied.end(), root) != denied.end()) {
    throw latchkey::error{latchkey::errc::not_authorized, "its ACL denies the list; grant this client the permission r",
                          root};
  }
  if (!denied.empty()) {
    std::cerr << fmt::format(
        "latchkey: {} node{} could not be listed, as {}: the ACL denies it; locks below are not shown\n", denied.size(),
        denied.size() == 1 ? "" : "s", printable(denied.front()));
  }
  return found;
}

bool matches(const listed_lock& one, const list_options& how, wall_time at) {
  if (one.first.holders + one.first.waiters == 0) return false;  // it has been released meanwhile
  if (how.waiting && one.first.waiters == 0) return false;
  if (!how.older_than) return true;
  const auto& read = one.first.contenders;
  return !read.empty() && read.front().holds && at - read.front().since > *how.older_than;
}

/// Waits until none of the nodes that have held the lock is in the queue any more.
class departure {
 public:
  departure(const context& with, const queue& of) {
    for (const auto& who : of.contenders)
      if (who.holds) holders_.insert(who.node);
    const bool semaphore = std::any_of(holders_.begin(), holders_.end(), is_of_semaphore);
    view_.emplace(with.client, of.path, semaphore, [this](const auto& seen) { look(seen); });
  }

  bool wait(std::chrono::milliseconds timeout) {
    std::unique_lock lock{guard_};
    return moved_.wait_for(lock, timeout, [&] { return holders_.empty(); });
  }

 private:
  void look(const latchkey::queue_sighting& seen) {
    if (!seen.known) return;
    std::set<std::string> there;
    for (const auto& each : seen.places) there.insert(each.node);
    const std::lock_guard lock{guard_};
    std::erase_if(holders_, [&](const auto& node) { return !there.contains(node); });
    if (holders_.empty()) moved_.notify_all();
  }

  std::mutex guard_;
  std::condition_variable moved_;
  std::set<std::string> holders_;       // that have not been seen to go
  std::optional<followed_queue> view_;  // last: its callback uses the others
};

latchkey::leader_sighting see_leader(const context& with, const std::string& path) {
  std::mutex guard;
  std::condition_variable changed;
  latchkey::leader_sighting seen;
  const latchkey::leader_view view{with.client, path, [&](const latchkey::leader_sighting& what) {
                                     const std::lock_guard lock{guard};
                                     seen = what;
                                     changed.notify_all();
                                   }};
  {
    std::unique_lock lock{guard};
    if (changed.wait_for(lock, with.time.left(), [&] { return seen.known; })) return seen;
  }
  read_queue(with, path, 1);  // throws if the leader's node may not be read
  throw latchkey::error{latchkey::errc::unreachable, "who leads was not known in time; give it more with --timeout",
                        path};
}

constexpr auto what_force_means =
    "The next contender may be granted the lock as soon as the node is gone. Its owner, if it runs latchkey and is "
    "alive,\nloses the lock about a round trip later; until then two holders may believe that they have it. A holder "
    "of "
    "Curator or\nkazoo is not told at all. Prefer latchkey ask, or ending the process.\n";

constexpr auto what_a_waiter_does = "It waits. If it runs latchkey and is alive, it queues again, at the end.\n";

}  // namespace

exit_code show_status(const context& with, const std::string& path, std::size_t most) {
  auto found = read_queue(with, path, most);
  found.abandoned = latchkey::abandoned_at(with.client, path, with.time.left());
  with.out << (with.json ? json_of(found) : text_of(found, now()));
  return exit_code::yes;
}

exit_code list_locks(const context& with, const list_options& how) {
  auto found = find_all(with, how.root);
  if (how.names && !how.waiting && !how.older_than) {
    for (const auto& each : found) with.out << (with.json ? json_of(each) : printable(each.path) + '\n');
    return found.empty() ? exit_code::no : exit_code::yes;
  }
  auto all = read_each(with, std::move(found), 1);
  const auto at = now();
  std::erase_if(all, [&](const listed_lock& each) { return !matches(each, how, at); });
  if (!with.json && !how.names) {
    with.out << text_of(all, at);
  } else {
    for (const auto& each : all) {
      if (how.names) {
        with.out << (with.json ? json_of(each.lock) : printable(each.lock.path) + '\n');
      } else {
        with.out << json_of(each);
      }
    }
  }
  return all.empty() ? exit_code::no : exit_code::yes;
}

exit_code find_deadlocks(const context& with, const std::string& root, std::chrono::milliseconds pause) {
  const auto look = [&] {
    const auto time = with.time.again();
    const context here{with.client, time, with.out, with.json};
    std::vector<queue> all;
    for (auto& each : read_each(here, find_all(here, root), std::numeric_limits<std::size_t>::max()))
      all.push_back(std::move(each.first));
    return all;
  };
  const auto before = look();
  std::vector<circle> found;
  if (!circles_of(before).empty()) {
    std::this_thread::sleep_for(pause);  // who really waits for one another does so then, too
    found = circles_of(unchanged(before, look()));
  }
  if (with.json) {
    for (const auto& each : found) with.out << json_of(each);
  } else if (found.empty()) {
    with.out << printable(root) << ": no sessions wait for one another\n";
  } else {
    with.out << text_of(found, now());
  }
  return found.empty() ? exit_code::yes : exit_code::no;
}

exit_code ask(const context& with, const std::string& path, std::optional<std::chrono::milliseconds> wait) {
  const auto before = read_queue(with, path);
  std::size_t asked = 0;
  bool moved = before.holders == 0;
  if (!moved) {
    std::optional<departure> leaving;
    if (wait) leaving.emplace(with, before);
    asked = latchkey::ask_to_release(with.client, path, with.time.left());
    moved = asked == 0 || (leaving && leaving->wait(*wait));
  }
  if (with.json) {
    with.out << json_of_asking(before, asked, moved);
  } else if (before.holders == 0) {
    with.out << printable(path) << ": not held\n";
  } else {
    for (const auto& who : before.contenders) {
      if (who.holds) with.out << text_of(who);  // the request is written over what its node says
    }
    with.out << fmt::format("{}: asked {} holder{} to release it{}\n", printable(path), asked, asked == 1 ? "" : "s",
                            !wait   ? ""
                            : moved ? "; released"
                                    : "; not released in time");
  }
  return !wait || moved ? exit_code::yes : exit_code::no;
}

exit_code evict(const context& with, const evict_options& what) {
  const auto before = read_queue(with, what.path);
  const auto who = std::find_if(before.contenders.begin(), before.contenders.end(),
                                [&](const contender& each) { return each.node == what.node; });
  if (who == before.contenders.end()) {
    std::cerr << fmt::format("latchkey: {} has no contender {}; latchkey status shows their names\n",
                             printable(what.path), printable(what.node));
    return exit_code::no;
  }
  if (!what.yes || (who->holds && !what.holder)) {
    std::cerr << text_of(*who) << (who->holds ? what_force_means : what_a_waiter_does);
    throw usage_error{who->holds ? "it holds the lock, and was not evicted; to delete its node, give --yes and --holder"
                                 : "it was not evicted; to delete its node, give --yes"};
  }
  const bool evicted = latchkey::evict(with.client, what.path, what.node, with.time.left());
  if (with.json) {
    with.out << json_of_eviction(what.path, *who, evicted);
  } else {
    with.out << fmt::format("{}: {} {}\n", printable(what.path), evicted ? "evicted" : "had left:", name_of(*who));
  }
  return evicted ? exit_code::yes : exit_code::no;
}

exit_code check(const context& with, const latchkey::sequencer& what) {
  const bool valid = latchkey::check_sequencer(with.client, what, with.time.left());
  if (with.json) {
    with.out << json_of(what, valid);
  } else {
    with.out << fmt::format("{}: {}\n", printable(what.node), valid ? "there" : "gone");
  }
  return valid ? exit_code::yes : exit_code::no;
}

exit_code show_leader(const context& with, const std::string& path) {
  latchkey::leader_sighting seen{.known = true, .who = {}};
  // A view would create a path that is missing.
  if (read_queue(with, path, 0).holders > 0) seen = see_leader(with, path);
  with.out << (with.json ? json_of(path, seen) : text_of(seen));
  return seen.who ? exit_code::yes : exit_code::no;
}

}  // namespace command
