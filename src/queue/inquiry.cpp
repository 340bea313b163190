// SPDX-License-Identifier: Apache-2.0
#include "queue/inquiry.hpp"

#include <algorithm>
#include <string_view>
#include <utility>

#include "queue/refusal.hpp"

namespace latchkey::detail {
namespace {

/// So many at the beginning, while a grant is to be proved: the first answers tell how large they are.
constexpr std::size_t first_window = 8;

/// Bytes of answers under way: they come before a proof's own answer.
constexpr std::size_t most_bytes = 1024 * 1024;

/// @returns what a request of that kind needs.
std::string_view permission_for(operation kind) noexcept {
  switch (kind) {
    case operation::create:
      return "the permission c";
    case operation::remove:
      return "the permission d on the path of the lock";
    case operation::set:
      return "the permission w";
    case operation::children:
    case operation::get:
    case operation::get_acl:
    case operation::sync:
    case operation::transact:  // a barrier, which only checks
      break;
  }
  return "the permission r";
}

}  // namespace

inquiry::inquiry(client_core& core, std::string path, std::vector<request> what, if_missing missing)
    : core_{core}, path_{std::move(path)}, what_{std::move(what)}, if_missing_{missing}, answers_(what_.size()) {}

void inquiry::start(time_point until) {
  timer_ = core_.monitor().at(until, [self = shared_from_this()] {
    self->timer_ = {};
    self->cancel();
  });
  observing_ = core_.add_observer(*this);
  send();
}

void inquiry::cancel() {
  if (!over_) end();
}

std::optional<std::vector<reply>> inquiry::answers() {
  if (failed_) failed_->throw_it();
  if (answered_ != what_.size()) return std::nullopt;
  std::vector<reply> all;
  all.reserve(answers_.size());
  for (auto& each : answers_) all.push_back(std::move(*each));
  return all;
}

void inquiry::send() {
  if (over_) return;
  if (core_.failed()) return fail(*core_.failed());
  if (!core_.session().connected())
    return void(connection_ = core_.when_connected([self = shared_from_this()] { self->send(); }));
  again_ = false;
  next_ = 0;
  if (creates_.begun()) {
    create_path_later(
        core_, core_.absolute(path_),
        [weak = weak_from_this()](const failure& why) {
          if (const auto self = weak.lock(); self && !self->refused_) self->refused_ = why;
        },
        [weak = weak_from_this()] { return weak.expired(); });
  }
  send_more();
}

/// Not at once: the end of the connection is still being told.
void inquiry::send_again() {
  if (core_.failed()) return fail(*core_.failed());  // nothing ends a pause any more
  duration pause{};
  if (std::exchange(missing_, false)) {
    const auto next = refused_ ? std::nullopt : creates_.next();
    if (!next) return fail(refused_ ? *refused_ : always_missing());
    pause = *next;
  } else {
    creates_.end();  // an attempt that was lost with its connection tells nothing of the path
  }
  connection_ = core_.after_pause(pause, [self = shared_from_this()] { self->send(); });
}

/// A barrier is of use only to the read behind it, over the same connection: it goes along when that is sent again.
bool inquiry::is_answered(std::size_t index) const noexcept {
  if (!answers_[index]) return false;
  return what_[index].kind != operation::transact || index + 1 == what_.size() || is_answered(index + 1);
}

std::size_t inquiry::window() const noexcept {
  const auto by_size = largest_ == 0 ? most_at_once : std::max<std::size_t>(1, most_bytes / largest_);
  const auto by_answers =
      core_.lease_keeper().holders() == 0 && core_.own_nodes().empty() ? most_at_once : first_window + answered_;
  return std::min({most_at_once, by_answers, by_size});
}

void inquiry::send_more() {
  for (; next_ < what_.size() && waiting_ < window(); ++next_) {
    if (is_answered(next_)) continue;
    ++waiting_;
    const auto self = shared_from_this();
    core_.session().submit(
        what_[next_],
        while_wanted{[self] { return self->over_; }, [self, i = next_](reply& answer) { self->on_answer(i, answer); }},
        urgency::background);
  }
  if (waiting_ == 0) end();
}

void inquiry::on_answer(std::size_t index, reply& answer) {
  if (over_) return;  // too late
  --waiting_;
  const bool denied = answer.code == reply_code::no_permission && if_missing_ == if_missing::tell_denied;
  switch (denied ? reply_code::no_node : answer.code) {
    case reply_code::ok:
      // Now: what it may still show has gone by the time the caller reads this.
      if (what_[index].kind == operation::children) {
        answer.children = core_.reaper().remaining(what_[index].path, answer.children);
      }
      [[fallthrough]];
    case reply_code::no_node:
      if (if_missing_ == if_missing::create && answer.code == reply_code::no_node) {
        again_ = missing_ = true;
        break;
      }
      largest_ = std::max(largest_, answer.data_size);
      if (!answers_[index]) ++answered_;
      answers_[index] = std::move(answer);
      break;
    case reply_code::not_sent:
    case reply_code::unknown_outcome:
    case reply_code::session_over:
      again_ = true;
      break;
    default:
      return fail(refusal_of(what_[index], answer.code));
  }
  if (!again_) return send_more();
  if (waiting_ == 0) send_again();
}

/// Of another node than that at the path its name is said: "its ACL" would be that of the path.
failure inquiry::refusal_of(const request& what, reply_code code) const {
  auto why = refusal(core_, code, permission_for(what.kind));
  if (what.path != core_.absolute(path_) && !what.path.empty()) why.what = what.path + ": " + why.what;
  return why;
}

void inquiry::fail(const failure& why) {
  if (over_) return;
  failed_ = why.at(path_);
  end();
}

void inquiry::end() {
  const auto self = shared_from_this();  // what is forgotten here may hold the last others
  over_ = true;
  core_.monitor().cancel(timer_);
  core_.forget_connected(connection_);
  core_.remove_observer(observing_);
  core_.monitor().wake({self, &point_});
}

std::vector<reply> inquiry::all_answers() {
  if (auto found = answers()) return *std::move(found);
  const auto why = core_.monitor().run_unless_forked([this] { return core_.why_not_connected(); });
  throw error{errc::unreachable, why.empty() ? "not all answers came in time; give it more time" : why, path_};
}

std::optional<std::vector<reply>> inquire(client_core& core, const std::string& path, std::vector<request> what,
                                          duration timeout, std::stop_token stop, if_missing missing) {
  auto& monitor = core.monitor();
  const auto asked = std::make_shared<inquiry>(core, path, std::move(what), missing);
  monitor.run([&] { asked->start(deadline_after(monitor.now(), timeout)); });
  const std::stop_callback on_stop{std::move(stop), [&] { monitor.run_unless_forked([&] { asked->cancel(); }); }};
  return asked->wait();
}

std::vector<reply> inquire(client_core& core, const std::string& path, std::vector<request> what, duration timeout,
                           if_missing missing) {
  auto& monitor = core.monitor();
  const auto asked = std::make_shared<inquiry>(core, path, std::move(what), missing);
  monitor.run([&] { asked->start(deadline_after(monitor.now(), timeout)); });
  asked->point()->wait();
  return asked->all_answers();
}

}  // namespace latchkey::detail
