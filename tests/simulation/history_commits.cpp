// SPDX-License-Identifier: Apache-2.0
// Of a history: transactions under its grants.
#include <algorithm>
#include <charconv>
#include <utility>

#include <fmt/format.h>

#include "simulation/history.hpp"

namespace latchkey::testing {

using namespace std::chrono_literals;
using detail::step;
using of = step::operation;

/// Writes its own number into the data of the lock: with a version, along with a node, with a marker, or just so.
detail::fenced_steps history::draw_steps(unsigned lock, std::size_t number, bool releases) {
  const auto path = data_path(lock);
  step set{.what = of::set, .path = path, .data = std::to_string(number)};
  const auto beside = fmt::format("{}-{}", path, number);
  switch (time_.random().below(4)) {
    case 0:
      set.version = ensemble_.version(path);
      return {.steps = {std::move(set)}, .releases = releases};
    case 1:
      return {.steps = {{.what = of::create, .path = beside}, std::move(set)}, .releases = releases};
    case 2:
      return {.steps = {{.what = of::create, .path = beside}, std::move(set)}, .marked = true, .releases = releases};
    default:
      return {.steps = {std::move(set)}, .releases = releases};
  }
}

/// At any time from the grant until a while after it may have ended.
void history::commit_later(actor& who) {
  const auto when = time_.random().between({}, plan_.longest_hold * 5 / 4);
  as_user(who.object->handle.client(), when,
          [this, &who, held = who.held, number = who.grant_number] { begin_commit(who, held, number, false); });
}

/// In place of an unlock, which follows.
void history::commit_and_unlock(actor& who) {
  begin_commit(who, who.held, who.grant_number, true);
  if (time_.random().below(8) == 0) unlock(who);  // before the outcome is known
}

void history::begin_commit(actor& who, const grant& held, std::size_t grant_number, bool releases) {
  auto& client = who.object->handle.client();
  const auto& grant = log_.grants[grant_number];
  const auto number = log_.commits.size();
  auto what = draw_steps(grant.lock, number, releases);
  log_.commits.push_back({.lock = grant.lock,
                          .grant = grant_number,
                          .fence = grant.fence,
                          .reads = grant.kind == detail::contender_kind::read,
                          .marked = what.marked});
  if (listener_) {
    tell(fmt::format("caller {} commits {} under {}{}", who.fiber, number, to_string(grant.fence),
                     releases ? ", and releases" : ""));
  }
  const auto begun = std::make_shared<detail::fenced_commit>(detail::grant_state::of(held), std::move(what));
  const auto limit = time_.random().between(1ms, plan_.timeout * 2);
  client.run([&] { begun->start(time_.now() + limit); });
  commits_.push_back({begun, number, releases ? &who : nullptr});
}

void history::observe_commits() {
  for (std::size_t i = 0; i < commits_.size();) {
    const auto& [begun, number, who] = commits_[i];
    if (!begun->result() && !begun->failed()) {
      ++i;
      continue;
    }
    auto& record = log_.commits[number];
    if (begun->result()) record.what = begun->result()->what;
    record.failed = begun->failed().has_value();
    if (listener_) tell(fmt::format("commit {} is {}", number, record.what ? to_string(*record.what) : "failed"));
    auto* const unlocks = who;
    commits_.erase(commits_.begin() + static_cast<std::ptrdiff_t>(i));
    if (unlocks && log_.grants[record.grant].unlocked == grant_record::not_unlocked) {
      as_user(unlocks->object->handle.client(), {}, [this, unlocks] { unlock(*unlocks); });
    }
  }
}

/// What the ensemble has taken, in its order.
void history::collect_writes() {
  for (const auto& what : ensemble_.log()) {
    if (what.kind != commit_kind::changed || !ensemble_.path(what).starts_with("/data/")) continue;
    std::size_t number = 0;
    std::from_chars(what.data.data(), what.data.data() + what.data.size(), number);
    log_.writes.push_back({number, what.time});
  }
}

}  // namespace latchkey::testing
