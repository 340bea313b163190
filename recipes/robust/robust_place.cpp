// SPDX-License-Identifier: Apache-2.0
#include "recipes/robust/robust_place.hpp"

#include <utility>

#include "base/log.hpp"
#include "base/path.hpp"
#include "queue/record.hpp"
#include "queue/refusal.hpp"

namespace latchkey::detail {
namespace {

/// Until the deletion of an entry of this client has been answered.
constexpr duration deletion_pause = std::chrono::milliseconds{20};

/// Until what has been lost is asked for again at the latest, if there is a connection.
constexpr duration repetition_pause = std::chrono::milliseconds{100};

}  // namespace

robust_place::robust_place(std::shared_ptr<client_core> core, const std::shared_ptr<const std::string>& path,
                           const rule& kind, place_listener& listener, std::chrono::milliseconds lock_delay,
                           std::shared_ptr<seen_death> seen)
    : place{listener},
      conversation{*core},
      core_{std::move(core)},
      path_{join(*path, name_of_record)},
      entry_{std::make_shared<queue_entry>(core_, path, kind, *this)},
      seen_{std::move(seen)} {
  record_.lock_delay = lock_delay;
}

void robust_place::start(patience how, std::unique_ptr<kept_node> former) {
  how_ = how;
  become(state::queueing);
  entry_->start(how, std::move(former));
}

void robust_place::become(state next) {
  anew();
  core_->forget_connected(std::exchange(connecting_, 0));
  state_ = next;
}

// The record ----------

/// A node with that number is the first of its queue, since that of `former` goes in the same transaction: its record can be
/// sent along. It waits for what it takes over, as calls of the same object do.
void robust_place::on_following(const kept_node& former, const std::string& node) {
  if (former.contended || former.behind != 0) return;  // another has most likely come between
  ahead_ = true;
  take(node, former.next);
}

void robust_place::on_granted() {
  const auto node = last_component(entry_->node());
  const auto fence = entry_->fence(entry_->first_turn());
  const bool is_named = state_ == state::named;
  if (node == record_.node && fence == record_.owner.fence) {
    ahead_ = false;
    if (is_named) return grant();  // it has been proved
  }
  if (!is_named && state_ != state::queueing) return;
  if (is_named) former_ = record_;  // while it was to be proved its node went, and it has queued again
  ahead_ = false;
  take(node, fence);
}

void robust_place::take(std::string_view node, fencing_token fence) {
  const auto mine = this_owner(core_->options().label);
  record_.node = node;
  record_.owner = {.fence = fence,
                   .label = mine.label,
                   .host = mine.host,
                   .pid = mine.pid,
                   .session = core_->session().info().id,
                   .since = std::chrono::system_clock::now()};
  write(state::taking);
}

/// Carried out only while the node of the entry is there: an owner that has lost it writes nothing any more.
void robust_place::write(state how) {
  const bool is_new = how == state::taking;
  become(how);
  uncertain_ = true;
  created_ = is_new;
  if (is_new) record_.before.reset();
  step record{.what = is_new ? step::operation::create : step::operation::set,
              .path = path_,
              .data = record_.text(),
              .mode = create_mode::persistent,
              .version = is_new ? -1 : version_};
  ask({.kind = operation::transact,
       .steps = {{.what = step::operation::check, .path = node_named(record_.node)}, std::move(record)}},
      &robust_place::on_written);
}

void robust_place::on_written(const reply& written) {
  using enum reply_code;
  if (written.code == ok) return be_named();
  if (is_lost(written.code)) return read_again();
  uncertain_ = false;
  if (left_) return leave_at_last();
  const bool own_node_gone = written.code == no_node && !written.results.empty() && written.results.front() != ok;
  if (own_node_gone && ahead_) return await_entry();
  if (own_node_gone) return core_->lease_keeper().lose_node(entry_->node());
  const bool is_other = written.code == node_exists || written.code == bad_version || written.code == no_node;
  is_other ? read() : fail(written.code);
}

/// What has been sent may have had its effect.
void robust_place::read_again() {
  if (how_ == patience::once && !left_) refuse();
  if (left_ && core_->failed()) end();  // there will be no connection
  if (state_ == state::over) return;
  become(state::reading);
  connecting_ = core_->after_pause(repetition_pause, [weak = weak_from_this()] {
    const auto self = weak.lock();
    if (!self) return;
    self->connecting_ = 0;
    self->connected() ? self->read() : self->read_again();
  });
}

void robust_place::read() {
  become(state::reading);
  ask(read_of_record(path_), &robust_place::on_read);
}

void robust_place::on_read(const reply& read) {
  if (is_lost(read.code)) return read_again();
  const auto found = read_robust_record(read);
  if (read.code == reply_code::ok && found.held && found.is_by_owner_of(record_)) return be_named();
  uncertain_ = false;
  if (left_) return leave_at_last();
  if (ahead_) return await_entry();  // what it has found may be of one ahead
  switch (read.code) {
    case reply_code::ok:
      return on_other(found, read.stat);
    case reply_code::no_node:
      return write(state::taking);
    case reply_code::no_permission:  // who may write it need not be able to read it
      return replace(dead_owner{}, -1);
    default:
      return fail(read.code);
  }
}

/// An owner of this client may have unlocked: then the deletion of its record is on its way, though this entry has been let
/// in.
void robust_place::on_other(const robust_record& found, const node_stat& of) {
  if (!found.node.empty() && core_->reaper().owes(node_named(found.node))) {
    become(state::pausing);
    return after(deletion_pause, [](robust_place& self) { self.write(state::taking); });
  }
  if (former_ && found.held && found.is_by_owner_of(*former_))
    return replace(former_->before, of.version);  // no other has held it then
  const auto now = core_->monitor().now();
  const bool is_news = seen_->czxid != of.czxid || seen_->version != of.version;
  if (is_news) *seen_ = {of.czxid, of.version, now};
  const auto delay = found.delays(record_);
  if (found.held && is_news) {
    log(log_level::warning, "an owner of a robust_mutex has not unlocked it; what it protects may be half changed",
        {{"path", parent_of(path_).substr(core_->chroot().size())},
         {"label", found.owner.label},
         {"host", found.owner.host},
         {"pid", found.owner.pid},
         {"token", to_string(found.owner.fence)},
         {"lock_delay_ms", delay}});
  }
  const auto left = seen_->since + delay - now;
  if (left <= duration::zero()) return replace(found.left_by(), of.version);
  const auto self = shared_from_this();
  become(state::pausing);
  waited_ = true;
  after(left, [dead = found.left_by(), version = of.version](robust_place& me) { me.replace(dead, version); });
  listener_->on_delayed();
}

void robust_place::replace(std::optional<dead_owner> before, std::int32_t version) {
  record_.before = std::move(before);
  version_ = version;
  write(state::replacing);
}

// The grant ----------

void robust_place::be_named() {
  const auto self = shared_from_this();
  become(state::named);
  uncertain_ = false;
  if (left_) return leave_at_last();
  if (ahead_) return entry_->granted() ? on_granted() : void();
  if (entry_->refresh(core_->monitor().now())) grant();
}

/// It did not follow directly on the former one, or has no number yet.
void robust_place::await_entry() {
  ahead_ = false;
  become(state::queueing);
  if (entry_->granted()) on_granted();
}

void robust_place::grant() {
  const auto self = shared_from_this();
  listener_->on_granted();
  if (state_ == state::named && asked_to_release_) listener_->on_asked_to_release();
}

// End ----------

void robust_place::leave(bool closed) {
  if (state_ == state::over || left_) return;
  const auto self = shared_from_this();
  closed_ = closed;
  if (!uncertain_) return leave_at_last();
  left_ = self;
}

std::unique_ptr<kept_node> robust_place::leave_for_another(std::uint32_t turn, bool closed) {
  if (state_ != state::named) {
    leave(closed);
    return nullptr;
  }
  const auto self = shared_from_this();
  auto left = entry_->leave_for_another(turn, closed);
  if (left && created_) left->used = 1;
  end();
  return left;
}

void robust_place::leave_at_last() {
  const auto self = shared_from_this();
  const bool is_named = state_ == state::named;
  // The entry has left its node to us, or is still looking for it.
  if (entry_->spared() || (is_named && entry_->node().empty()))
    core_->reaper().remove(node_named(record_.node),
                           is_named ? record_.farewell(way_out_, path_) : std::vector<step>{});
  entry_->leave(closed_);
  end();
}

/// @returns whether its line is to be told: it has not let go of the place.
bool robust_place::on_entry_over() {
  if (!entry_->spared()) return end();
  return std::exchange(left_, shared_from_this()) == nullptr;
}

/// Who goes in order, and was told of no death, leaves no record. An entry that stands again, in another session, has none: the
/// record may be another owner's by now.
std::vector<step> robust_place::last_words() const {
  const bool is_mine = state_ == state::named && record_.node == last_component(entry_->node());
  return is_mine ? record_.farewell(way_out_, path_) : std::vector<step>{};
}

/// @returns whether its line is to be told: it has not let go of the place.
bool robust_place::end() {
  become(state::over);
  return std::exchange(left_, nullptr) == nullptr;
}

void robust_place::refuse() {
  const auto self = shared_from_this();
  leave();
  listener_->on_refused();
}

void robust_place::fail(reply_code code) {
  const auto self = shared_from_this();
  const auto why = refusal(*core_, code, "the permissions c, d, r and w");
  leave();
  listener_->on_failed(why);
}

// Of its entry ----------

void robust_place::on_asked_to_release() {
  asked_to_release_ = true;
  if (state_ == state::named) listener_->on_asked_to_release();
}

void robust_place::on_refused() {
  const auto self = shared_from_this();
  if (on_entry_over()) listener_->on_refused();
}

void robust_place::on_lost(loss_reason why) {
  const auto self = shared_from_this();
  const bool was_try = state_ != state::named && how_ == patience::once;
  if (on_entry_over()) was_try ? listener_->on_refused() : listener_->on_lost(why);
}

void robust_place::on_failed(const failure& why) {
  const auto self = shared_from_this();
  if (on_entry_over()) listener_->on_failed(why);
}

}  // namespace latchkey::detail
