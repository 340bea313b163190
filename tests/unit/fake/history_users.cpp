// SPDX-License-Identifier: Apache-2.0
// Of a history: what its users do.
#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "base/node_name.hpp"
#include "fake/history.hpp"

namespace latchkey::testing {

using namespace std::chrono_literals;

/// User code does not run while its process is stopped.
void history::as_user(const simulated_client& of, duration after, std::function<void()> what) {
  const auto when = std::max(time_.now() + after, time_.resumes_at(of.process()));
  time_.at(when, [this, &of, what = std::move(what)] {
    if (time_.resumes_at(of.process()) > time_.now()) return as_user(of, {}, what);
    what();
  });
}

void history::think(actor& who) {
  if (who.calls_left == 0) {
    who.done = true;
    return;
  }
  --who.calls_left;
  as_user(*who.object->client, time_.random().between({}, plan_.longest_thought), [this, &who] { begin_call(who); });
}

void history::begin_call(actor& who) {
  auto& random = time_.random();
  auto& object = *who.object;
  call_record call;
  call.lock = object.lock;
  call.client = object.client_number;
  call.object = object.number;
  call.entered = time_.steps();
  call.entered_at = time_.now();
  duration timeout = duration::max();
  const auto kind = random.below(10);
  if (kind == 0) {
    timeout = duration::zero();
    call.once = true;
    // Bounded by the answer of the ensemble, or by the loss of the connection.
    call.deadline = time_.now() + plan_.timeout * 2;
  } else if (kind <= 2) {
    timeout = random.between(1ms, plan_.timeout);
    call.deadline = time_.now() + timeout;
  }
  who.call_number = log_.calls.size();
  try {
    who.call =
        object.client->run([&] { return object.seat->enter(who.fiber, detail::limit::within(timeout, time_.now())); });
  } catch (const error& failed) {
    call.what = call_record::outcome::failed;
    call.failure = failed.what();
    call.may_fail = object.client == closed_early_;
    call.finished_at = time_.now();
    who.done = true;
  }
  log_.calls.push_back(call);
  tell(fmt::format("client {} calls for lock {} as caller {}", call.client, call.lock, who.fiber));
  if (kind == 9 && !who.done) {
    as_user(*object.client, random.between({}, plan_.timeout), [this, &who, waiting = who.call] {
      if (who.call != waiting) return;
      log_.calls[who.call_number].cancelled = true;
      who.object->client->run([&] { who.object->seat->cancel(waiting); });
    });
  }
}

void history::finish_call(actor& who) {
  auto& call = log_.calls[who.call_number];
  const auto settled = std::exchange(who.call, nullptr);
  call.finished_at = time_.now();
  // Who was stopped is excused until it runs again.
  const auto resumed = time_.resumed_at(who.object->client->process());
  if (call.deadline < resumed) call.deadline = call.once ? resumed + plan_.timeout * 2 : resumed;
  switch (settled->what) {
    case detail::caller::outcome::waiting:
      break;
    case detail::caller::outcome::granted:
      call.what = call_record::outcome::granted;
      return begin_grant(who);
    case detail::caller::outcome::refused:
      call.what = call_record::outcome::refused;
      tell(fmt::format("caller {} gives up", who.fiber));
      return think(who);
    case detail::caller::outcome::failed:
      call.what = call_record::outcome::failed;
      call.failure = settled->why.what;
      tell(fmt::format("caller {} fails: {}", who.fiber, call.failure));
      call.may_fail = who.object->client == closed_early_;
      who.done = true;
  }
}

void history::begin_grant(actor& who) {
  auto& random = time_.random();
  auto& object = *who.object;
  who.held = object.seat->held();
  grant_record grant;
  grant.lock = object.lock;
  grant.client = object.client_number;
  grant.call = who.call_number;
  grant.fence = who.held.fence();
  grant.granted = grant.last_valid = time_.steps();
  grant.granted_at = time_.now();
  who.node = look_at_queue(grant);
  who.grant_number = log_.grants.size();
  log_.grants.push_back(grant);
  tell(fmt::format("client {} is granted lock {} as caller {}: {}", grant.client, grant.lock, who.fiber,
                   to_string(grant.fence)));
  const bool hunted = faults_until_ > time_.now() && random.chance(plan_.hunted);
  const auto hold = hunted ? plan_.longest_hold : random.between({}, plan_.longest_hold);
  if (random.below(4) == 0) who.held.stop_token();  // somebody wants to be told
  as_user(*object.client, hold, [this, &who] { unlock(who); });
  if (hunted) hunt(who);
}

/// Cuts the server off while its leader has not heard of the newest touches; and the client, too, so that it cannot go
/// to another one in time.
void history::hunt(const actor& who) {
  auto* const connection = who.object->client->connector().latest();
  const auto within = time_.random().below(4) != 0 ? plan_.weather.tick / 2 : plan_.timeout;
  time_.after(time_.random().between({}, within), [this, connection] {
    for (unsigned i = 0; i < ensemble_.servers(); ++i) {
      if (ensemble_.server(i).is_cut()) return;
    }
    if (time_.now() > faults_until_ || !connection->server()) return;
    tell("a hunter strikes");
    ensemble_.cut_server(connection->server()->number(), time_.random().between(plan_.timeout / 2, plan_.timeout * 2),
                         time_.random().between(1ms, 500ms));
    if (time_.random().below(4) != 0)
      connection->open_hole(time_.random().between(plan_.timeout / 2, plan_.timeout * 2));
  });
}

/// The ensemble itself knows whose turn it is.
path_id history::look_at_queue(grant_record& grant) {
  const auto path = lock_path(grant.lock);
  path_id found = 0;
  for (const auto& name : ensemble_.children(path)) {
    if (!detail::parse_contender(name)) continue;
    const auto node = path + "/" + name;
    const auto czxid = ensemble_.czxid(node);
    if (czxid == grant.fence.czxid) {
      found = ensemble_.paths().intern(node);
    } else if (czxid < grant.fence.czxid) {
      ++grant.overtaken;
    }
  }
  // Granted from a list that was read before an operator came by.
  grant.node_missing = found == 0 && !plan_.operators;
  return found;
}

std::string_view history::node_of(const grant_record& grant) const {
  for (const auto& each : ensemble_.log()) {
    if (each.zxid == grant.fence.czxid) return ensemble_.path(each);
  }
  return {};
}

void history::unlock(actor& who) {
  tell(fmt::format("caller {} unlocks lock {}, {}", who.fiber, who.object->lock, who.held ? "held" : "lost"));
  who.held = {};
  who.object->seat->unlock();
  think(who);
}

}  // namespace latchkey::testing
