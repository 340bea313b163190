// SPDX-License-Identifier: Apache-2.0
#include "recipes/contract.hpp"

#include <utility>

#include <fmt/format.h>

#include "base/escape.hpp"
#include "base/path.hpp"
#include "queue/refusal.hpp"

namespace latchkey::detail {
namespace {

/// Names no key and no contender.
constexpr std::string_view keeper = "%keep";

constexpr std::string_view permissions = "the permissions c, r and w";

}  // namespace

contract::contract(std::shared_ptr<client_core> core, std::string path, std::string_view name, std::uint64_t number)
    : core_{std::move(core)},
      path_{std::move(path)},
      absolute_{core_->absolute(path_)},
      text_{fmt::format(R"({{"{}":{}}})", name, number)} {}

void contract::open(std::function<void(const failure&)> on_refused) {
  core_->monitor().run([&] {
    on_refused_ = std::move(on_refused);
    observing_ = core_->add_observer(*this);
  });
}

void contract::shut() noexcept {
  if (core_->monitor().forked()) return keep_for_ever(shared_from_this());
  core_->monitor().run([this] {
    core_->remove_observer(observing_);
    on_refused_ = {};
    wanted_ = false;
    fail(destroyed(path_));
  });
}

bool contract::agree(duration timeout, std::stop_token stop) {
  if (agreed()) return true;
  return call(
      core_->monitor(), timeout, std::move(stop), [this](auto, auto until) { return enter(until); },
      [this](const auto& who) { conclude(who, waiter::outcome::refused); });
}

// The node ----------

void contract::ask() {
  if (agreed() || asked_) return;
  wanted_ = true;
  if (!core_->session().connected()) return;
  asked_ = true;
  core_->session().submit({.kind = operation::get, .path = absolute_},
                          while_wanted{[self = shared_from_this()] { return !self->wanted_; },
                                       [self = shared_from_this()](const reply& read) { self->on_read(read); }});
}

void contract::on_connected() {
  if (wanted_) ask();
}

void contract::on_read(const reply& read) {
  asked_ = false;
  if (!wanted_) return;
  if (is_lost(read.code)) return;  // asked again with the next connection
  if (read.code != reply_code::ok && read.code != reply_code::no_node) return refuse(refusal(read.code, permissions));
  if (read.data == text_) {
    wanted_ = false;
    agreed_.store(true, std::memory_order_release);
    return settle(waiter::outcome::granted);
  }
  if (!read.data.empty()) {
    return refuse({errc::contract_mismatch,
                   fmt::format("its node says {}, and this object was made with {}; use the same number everywhere, or "
                               "another path",
                               escaped(read.data.substr(0, 64)), text_),
                   {}});
  }
  if (const auto why = std::exchange(refused_, std::nullopt)) return refuse(*why);
  const auto pause = writes_.next();
  if (!pause) {
    return refuse(
        {errc::refused,
         fmt::format("its node was deleted or emptied after each of {} attempts to write it; stop the process "
                     "that does that",
                     repetition::most_attempts),
         {}});
  }
  if (*pause == duration::zero()) return write(read);
  asked_ = true;
  core_->monitor().in(*pause, [weak = weak_from_this(), read] {
    const auto self = weak.lock();
    if (!self) return;
    self->asked_ = false;
    if (self->wanted_ && self->core_->session().connected()) self->write(read);
  });
}

void contract::write(const reply& found) {
  refused_.reset();
  if (found.code == reply_code::ok) {
    change(found.stat);
  } else {
    make_node();
  }
  ask();
}

/// Not if another user has written meanwhile.
void contract::change(const node_stat& node) {
  send({.kind = operation::create, .path = join(absolute_, keeper), .mode = create_mode::persistent});
  send({.kind = operation::transact,
        .steps = {{.what = step::operation::set, .path = absolute_, .data = text_, .version = node.version}}});
}

void contract::make_node() {
  create_path(*core_, parent_of(absolute_), [weak = weak_from_this()](const failure& why) {
    if (const auto self = weak.lock()) self->refused_ = why;
  });
  send({.kind = operation::create, .path = absolute_, .data = text_, .mode = create_mode::persistent});
}

/// What has become of the write is what the next read shows.
void contract::send(request what) {
  core_->session().submit(std::move(what), [self = shared_from_this()](const reply& answer) {
    using enum reply_code;
    const auto code = answer.code;
    const bool raced = code == node_exists || code == bad_version || code == no_node;
    if (code != ok && !raced && !is_lost(code)) self->refused_ = refusal(code, permissions);
  });
}

void contract::refuse(failure why) {
  why.path = path_;
  writes_.end();
  wanted_ = false;
  fail(why);
  if (on_refused_) on_refused_(why);
}

// Those who wait ----------

std::shared_ptr<waiter> contract::enter(time_point until) {
  require_working(*core_, path_);
  auto me = std::make_shared<waiter>();
  me->at = waiting_.insert(waiting_.end(), me);
  me->ends_by_itself = until == at_once;
  if (until == at_once) until = core_->end_of_try();
  if (until != never) {
    me->timer = core_->monitor().at(until, [me, weak = weak_from_this()] {
      me->timer = {};
      me->ends_by_itself = true;
      const auto self = weak.lock();
      if (self && me->what == waiter::outcome::waiting) self->conclude(me, waiter::outcome::refused);
    });
  }
  if (agreed()) conclude(me, waiter::outcome::granted);
  ask();
  return me;
}

void contract::conclude(const std::shared_ptr<waiter>& who, waiter::outcome what) {
  if (who->what != waiter::outcome::waiting) return;
  core_->monitor().cancel(who->timer);
  if (what == waiter::outcome::refused && who->ends_by_itself) {
    if (const auto outage = core_->unreachable()) {
      who->why = std::make_unique<failure>(outage->at(path_));
      what = waiter::outcome::failed;
    }
  }
  who->what.store(what, std::memory_order_release);
  core_->monitor().wake({who, &who->point});
  waiting_.erase(who->at);  // last: it may hold the last reference
}

void contract::fail(const failure& why) {
  for (const auto& each : waiting_) each->why = std::make_unique<failure>(why.at(path_));
  settle(waiter::outcome::failed);
}

void contract::settle(waiter::outcome what) {
  while (!waiting_.empty()) conclude(waiting_.front(), what);
}

}  // namespace latchkey::detail
