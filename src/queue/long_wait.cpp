// SPDX-License-Identifier: Apache-2.0
#include "queue/long_wait.hpp"

#include <algorithm>
#include <memory>
#include <utility>

#include <fmt/format.h>

#include "base/log.hpp"
#include "base/path.hpp"
#include "queue/admission.hpp"
#include "queue/record.hpp"
#include "session/connected_sessions.hpp"

namespace latchkey::detail {
namespace {

/// @returns the contenders that others of kind `mine` wait for, the first `most` of them, in order.
std::vector<rank> first_rivals(const std::vector<std::string>& children, const rule& mine, std::size_t most) {
  std::vector<rank> all;
  for (const auto& name : children) {
    if (const auto found = rival_of(mine, name)) all.push_back({found->number, name});
  }
  std::sort(all.begin(), all.end());
  all.resize(std::min(all.size(), most));
  return all;
}

/// @returns the first contender that one of kind `mine` waits for, or that is let in together with it: who holds the
/// lock, if anyone does. A reader waits for a writer, which may wait for a reader.
rank first_of(const std::vector<std::string>& children, const rule& mine, rank rival) {
  for (const auto& name : children) {
    if (const auto number = mine.number(name)) rival = std::min(rival, rank{*number, name});
  }
  return rival;
}

/// Other clients may have stored long texts.
std::string_view cut(std::string_view text) { return text.substr(0, 512); }

/// One look at the queue of one lock.
class look : public std::enable_shared_from_this<look> {
 public:
  look(client_core& core, lock_queue where, const long_wait& wait)
      : core_{core}, where_{std::move(where)}, absolute_{core_.absolute(where_.path)}, wait_{wait} {}

  void begin() { ask({.kind = operation::children, .path = absolute_}, &look::on_listed); }

 private:
  std::string node() const { return join(absolute_, holder_); }
  bool is_of_client(std::string_view name) const {
    return core_.lease_keeper().holder_of(join(absolute_, name)) != nullptr;
  }

  void ask(request what, void (look::*then)(const reply&)) {
    if (!core_.session().connected()) return;
    core_.session().submit(
        std::move(what), [self = shared_from_this(), then](const reply& answer) { ((*self).*then)(answer); },
        urgency::background);
  }

  void on_listed(const reply& listed) {
    if (!wait_.goes_on()) return;  // an answer that took long: the holder may be the call itself
    const auto remaining = core_.reaper().remaining(absolute_, listed.children);
    auto holders = first_rivals(remaining, *where_.kind, std::max<std::size_t>(where_.holders, 1));
    if (holders.empty()) return wait_.calls != 0 ? tell_waiting() : look_again();
    if (where_.holders <= 1 && !where_.kind->exclusive())
      holders.front() = first_of(remaining, *where_.kind, holders.front());
    holder_ = holders.front().name;
    held_by_client_ =
        std::all_of(holders.begin(), holders.end(), [this](const rank& each) { return is_of_client(each.name); });
    ask({.kind = operation::get, .path = node()}, &look::on_read);
  }

  void on_read(const reply& read) {
    if (read.code == reply_code::no_node) return look_again();
    if (read.code == reply_code::no_permission) return tell_of_unreadable();
    read_ = read;
    if (wait_.calls == 0) say_if_held_here();
    ask({.kind = operation::transact, .steps = {{.path = node()}}}, &look::on_checked);
  }

  /// It may be that of a waiting call: whose ACL has been changed, and with it the one ahead, hears nothing of its end.
  void tell_of_unreadable() {
    if (!wait_.goes_on()) return;
    if (wait_.calls != 0) tell_waiting();
    said_ = true;
    log(log_level::info,
        fmt::format("{} for a lock whose first node its ACL lets nobody read; leave the ACLs of contenders as they are",
                    wait_.words()),
        {{"path", where_.lock}, {"node", node()}});
  }

  /// Those that nothing keeps from the lock have not heard of it: an event has been lost (HAZARDS S21).
  void tell_waiting() const { core_.reassess(absolute_ + "/"); }  // whatever node is there
  bool is_of_waiting_call() const {
    return read_.stat.ephemeral_owner == core_.session().info().id && !is_of_client(holder_);
  }

  /// A node of an earlier session of this process may be there still, and so may one whose deletion is under way.
  bool is_held_here() const {
    if (where_.holders != 1) return where_.holders != 0 && held_by_client_;
    const auto session = read_.stat.ephemeral_owner;
    return held_by_client_ || (session != core_.session().info().id && is_connected_here(session));
  }

  /// The server passes the leader's answer on only after everything that was committed before it: a correct server
  /// lists a deleted node no more.
  void on_checked(const reply& checked) {
    if (checked.code == reply_code::no_node) {
      return ask({.kind = operation::children, .path = absolute_}, &look::on_listed_again);
    }
    if (!wait_.goes_on() || read_.code != reply_code::ok) return;
    if (is_of_waiting_call()) return tell_waiting();
    if (read_.stat.ephemeral_owner == 0) {
      said_ = true;
      return say(
          log_level::warning,
          fmt::format("{} for a lock that a permanent node holds, which no session ends; delete it", wait_.words()));
    }
    if (core_.lease_keeper().asks(node())) {
      said_ = true;
      return say(log_level::info, fmt::format("{} for its lease; it has the first place in the queue", wait_.words()));
    }
    if (wait_.calls != 0 && !say_if_held_here()) {
      say(log_level::info,
          wait_.calls == 1 ? "a call has been waiting long for the lock" : "calls have been waiting long for the lock");
    }
  }

  void on_listed_again(const reply& listed) {
    if (std::find(listed.children.begin(), listed.children.end(), holder_) == listed.children.end())
      return look_again();
    if (!std::exchange(told_, true)) {
      log(log_level::error,
          "this server shows a node that the leader does not have: it has lost a transaction (see ZOOKEEPER-4785); the "
          "node is disregarded; while the other servers have a quorum, stop this server, delete its snapshots and "
          "transaction logs (keep myid), and start it again",
          {{"server", core_.session().info().server}, {"node", node()}});
    }
    core_.reaper().disregard(node());
    on_listed(listed);  // there may be more such nodes
  }

  /// In a std::lock that does not end, each of two holds the lock for a moment only. What calls wait for stays for longer.
  void look_again() {
    if (wait_.calls == 0 && !said_ && ++looks_ < most_looks) begin();
  }

  bool say_if_held_here() {
    if (read_.code != reply_code::ok || !is_held_here()) return false;
    said_ = true;
    const auto* const of_tries =
        wait_.calls == 0 ? ", and an idle one that keeps its entry (the option linger) until a call waits" : "";
    say(log_level::warning,
        fmt::format(
            "{} for a lock that this process itself holds; lock objects of one path exclude each other, also within a "
            "thread or a std::scoped_lock{}",
            wait_.words(), of_tries));
    return true;
  }

  void say(log_level level, std::string_view text) const {
    const auto owner = read_owner(read_.data);
    const auto session = read_.stat.ephemeral_owner;
    const bool waiting = wait_.calls != 0;
    log(level, text,
        {{"path", where_.lock},
         {waiting ? "waited_ms" : "failing_ms", wait_.lasted},
         {"waiting_calls", waiting ? fmt::to_string(wait_.calls) : std::string{}},
         {"holder", holder_},
         {"holder_label", cut(owner.label)},
         {"holder_host", cut(owner.host)},
         {"holder_pid", owner.pid == 0 ? std::string{} : fmt::to_string(owner.pid)},
         {"holder_data", !owner.label.empty()            ? std::string_view{}
                         : read_.data == release_request ? "asked to release"
                                                         : cut(read_.data)},
         {"holder_session", session == 0 ? "none: foreign, permanent" : session_name(session)}});
  }

  static constexpr int most_looks = 20;

  client_core& core_;
  const lock_queue where_;
  const std::string absolute_;
  const long_wait wait_;
  std::string holder_;
  bool held_by_client_ = false;  // by this one, when it was listed
  reply read_;
  int looks_ = 0;
  bool said_ = false;
  bool told_ = false;
};

}  // namespace

std::string_view long_wait::words() const noexcept {
  return calls == 0 ? "tries keep failing" : "a call has been waiting long";
}

void look_into_long_wait(client_core& core, lock_queue where, const long_wait& what) {
  std::make_shared<look>(core, std::move(where), what)->begin();
}

}  // namespace latchkey::detail
