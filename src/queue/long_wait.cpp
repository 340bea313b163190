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

namespace latchkey::detail {
namespace {

/// @returns the name of the first contender that others of kind `mine` wait for; empty if there is none.
std::string first_rival(const std::vector<std::string>& children, const rule& mine) {
  rank first;
  for (const auto& name : children) {
    const auto found = rival_of(mine, name);
    if (!found) continue;
    const rank here{found->number, name};
    if (first.name.empty() || here < first) first = here;
  }
  return std::string{first.name};
}

/// Other clients may have stored long texts.
std::string_view cut(std::string_view text) { return text.substr(0, 512); }

/// One look at the queue of one lock.
struct look : std::enable_shared_from_this<look> {
  client_core& core;
  const std::string path;
  const std::string absolute;
  const rule& kind;
  const duration waited;
  const std::size_t calls;
  std::string holder;
  bool told = false;

  look(client_core& of, std::string lock, const rule& mine, duration time, std::size_t count)
      : core{of}, path{std::move(lock)}, absolute{core.absolute(path)}, kind{mine}, waited{time}, calls{count} {}

  std::string node() const { return join(absolute, holder); }

  void ask(request what, void (look::*then)(const reply&)) {
    if (!core.session().connected()) return;
    core.session().submit(
        std::move(what), [self = shared_from_this(), then](const reply& answer) { ((*self).*then)(answer); },
        urgency::background);
  }

  void begin() { ask({.kind = operation::children, .path = absolute}, &look::on_listed); }

  void on_listed(const reply& listed) {
    holder = first_rival(core.reaper().remaining(absolute, listed.children), kind);
    if (!holder.empty()) ask({.kind = operation::transact, .steps = {{.path = node()}}}, &look::on_checked);
  }

  /// The server passes the leader's answer on only after everything that was committed before it: a correct server
  /// lists a deleted node no more.
  void on_checked(const reply& checked) {
    if (checked.code == reply_code::no_node) {
      ask({.kind = operation::children, .path = absolute}, &look::on_listed_again);
    } else {
      ask({.kind = operation::get, .path = node()}, &look::on_read);
    }
  }

  void on_listed_again(const reply& listed) {
    if (std::find(listed.children.begin(), listed.children.end(), holder) == listed.children.end()) return;
    if (!std::exchange(told, true)) {
      log(log_level::error,
          "this server shows a node that the leader does not have: it has lost a transaction (see ZOOKEEPER-4785); the "
          "node is disregarded; while the other servers have a quorum, stop this server, delete its snapshots and "
          "transaction logs (keep myid), and start it again",
          {{"server", core.session().info().server}, {"node", node()}});
    }
    core.reaper().disregard(node());
    on_listed(listed);  // there may be more such nodes
  }

  void on_read(const reply& read) {
    if (read.code != reply_code::ok) return;
    const auto owner = read_owner(read.data);
    const auto session = read.stat.ephemeral_owner;
    const bool own = session == core.session().info().id || is_this_process(owner);
    log(own ? log_level::warning : log_level::info,
        own ? "a call has been waiting long for a lock that this process itself holds; lock objects of one path "
              "exclude each other, also within a thread"
        : calls == 1 ? "a call has been waiting long for the lock"
                     : "calls have been waiting long for the lock",
        {{"path", path},
         {"waited_ms", waited},
         {"waiting_calls", calls},
         {"holder", holder},
         {"holder_label", cut(owner.label)},
         {"holder_host", cut(owner.host)},
         {"holder_pid", owner.pid == 0 ? std::string{} : fmt::to_string(owner.pid)},
         {"holder_data", owner.label.empty() ? cut(read.data) : std::string_view{}},
         {"holder_session", session == 0 ? "none: foreign, permanent" : session_name(session)}});
  }
};

}  // namespace

void look_into_long_wait(client_core& core, const std::string& path, const rule& kind, duration waited,
                         std::size_t calls) {
  std::make_shared<look>(core, path, kind, waited, calls)->begin();
}

}  // namespace latchkey::detail
