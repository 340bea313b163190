// SPDX-License-Identifier: Apache-2.0
#include "recipes/queue_watch.hpp"

#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/log.hpp"
#include "base/path.hpp"
#include "queue/refusal.hpp"
#include "queue/wait_list.hpp"
#include "recipes/queue_listing.hpp"

namespace latchkey::detail {
namespace {

/// @param folder the last component of the path: permits are in that of a semaphore only
std::vector<queue_place> places_of(const std::vector<std::string>& children, std::string_view folder) {
  auto all = in_order(children);
  const bool permits = all.empty() && folder == permit_leases;
  if (permits) all = in_order(children, permit_folder);
  std::vector<queue_place> places;
  turns_of_queue turns;
  for (const auto& each : all) {
    places.push_back({.node = permits ? each.name.substr(permit_folder.size()) : each.name,
                      .what = public_kind(each.place.kind),
                      .holds = turns.next(each)});
  }
  return places;
}

}  // namespace

queue_watch::queue_watch(std::shared_ptr<client_core> core, std::string path,
                         std::function<void(const queue_sighting&)> changed)
    : conversation{*core},
      core_{std::move(core)},
      path_{std::move(path)},
      absolute_{core_->absolute(path_)},
      audience_{std::make_shared<audience<queue_sighting>>("the callback of a queue_view", path_, std::move(changed))} {
}

void queue_watch::open() {
  core_->monitor().run([this] {
    require_working(*core_, path_);
    observing_ = core_->add_observer(*this);
    look();
  });
}

void queue_watch::shut() noexcept {
  if (core_->monitor().forked()) return keep_for_ever(shared_from_this());
  audience_->leave();
  core_->monitor().run([this] {
    core_->remove_observer(observing_);
    forget();
  });
}

queue_sighting queue_watch::now() {
  return core_->monitor().run_unless_forked([this] { return seen_; });
}

/// What has been seen is believed until the answer comes.
void queue_watch::look() {
  anew();
  if (!connected()) return;
  watch({.kind = operation::children, .path = absolute_}, &queue_watch::on_listed, &queue_watch::look,
        urgency::background);
}

void queue_watch::on_listed(const reply& listed) {
  if (listed.code == reply_code::no_node) return on_missing();
  if (listed.code != reply_code::ok) return not_answered(listed.code);
  refused_ = false;
  creates_.end();
  see({.known = true, .places = places_of(listed.children, last_component(absolute_))});
}

/// A new container is not deleted before it has had a child. A client without permission to create it polls.
void queue_watch::on_missing() {
  const auto pause = std::exchange(refused_, false) ? std::nullopt : creates_.next();
  if (pause == duration::zero()) return make_path();
  if (pause) return after(*pause, &queue_watch::make_path);
  creates_.end();
  see({.known = true});
  look_later();
}

void queue_watch::make_path() {
  create_path_later(
      *core_, absolute_,
      [weak = weak_from_this()](const failure&) {
        if (const auto self = weak.lock()) self->refused_ = true;
      },
      [weak = weak_from_this()] { return weak.expired(); });
  look();
}

void queue_watch::not_answered(reply_code code) {
  if (!is_lost(code) && !std::exchange(denied_, true)) {
    const auto why = refusal(*core_, code, "the permission r on the path");
    log(log_level::warning, fmt::format("the queue of a lock cannot be read: {}", why.what), {{"path", path_}});
  }
  see({});
  look_later();
}

void queue_watch::look_later() { after(core_->session().info().timeout, &queue_watch::look); }

void queue_watch::forget() {
  anew();
  see({});
}

void queue_watch::see(queue_sighting what) {
  if (what.known) denied_ = false;
  if (what == seen_) return;
  seen_ = std::move(what);
  audience_->tell(*core_, seen_);
}

}  // namespace latchkey::detail
