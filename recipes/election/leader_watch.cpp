// SPDX-License-Identifier: Apache-2.0
#include "recipes/election/leader_watch.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/log.hpp"
#include "base/path.hpp"
#include "queue/admission.hpp"
#include "queue/refusal.hpp"
#include "queue/wait_list.hpp"
#include "recipes/rules.hpp"

namespace latchkey::detail {
namespace {

/// @returns the name of the first contender among the children; empty if there is none.
std::string first_of(const std::vector<std::string>& children) {
  std::string first;
  std::uint32_t lowest = 0;
  for (const auto& name : children) {
    const auto place = parse_contender(name);
    if (!place || place->kind == contender_kind::permit) continue;
    if (first.empty() || rank{place->number, name} < rank{lowest, first}) {
      first = name;
      lowest = place->number;
    }
  }
  return first;
}

}  // namespace

leader_watch::leader_watch(std::shared_ptr<client_core> core, std::string path,
                           std::function<void(const leader_sighting&)> changed)
    : conversation{*core},
      core_{std::move(core)},
      path_{std::move(path)},
      absolute_{core_->absolute(path_)},
      audience_{
          std::make_shared<audience<leader_sighting>>("the callback of a leader_view", path_, std::move(changed))} {}

void leader_watch::open() {
  core_->monitor().run([this] {
    require_working(*core_, path_);
    observing_ = core_->add_observer(*this);
    look();
  });
}

void leader_watch::shut() noexcept {
  if (core_->monitor().forked()) return keep_for_ever(shared_from_this());
  audience_->leave();
  core_->monitor().run([this] {
    core_->remove_observer(observing_);
    forget();
  });
}

leader_sighting leader_watch::now() {
  return core_->monitor().run_unless_forked([this] { return seen_; });
}

/// What has been seen is believed until the answer comes.
void leader_watch::look() { list(false); }

void leader_watch::list(bool watching) {
  anew();
  if (!connected()) return;
  request children{.kind = operation::children, .path = absolute_};
  const auto on_listed = [watching](leader_watch& self, const reply& listed) {
    if (listed.code == reply_code::no_node) return self.on_missing();
    if (listed.code != reply_code::ok) return self.not_answered(listed.code);
    self.refused_ = false;
    self.creates_.end();
    if (const auto first = first_of(listed.children); !first.empty()) return self.read(first);
    if (!watching) return self.list(true);
    self.see({.known = true});
  };
  if (!watching) return ask(std::move(children), on_listed, urgency::background);
  watch(std::move(children), on_listed, &leader_watch::look, urgency::background);
}

void leader_watch::read(const std::string& name) {
  anew();
  watch(
      {.kind = operation::get, .path = join(absolute_, name)},
      [](leader_watch& self, const reply& read) {
        if (read.code == reply_code::no_node) return self.look();
        if (read.code != reply_code::ok) return self.not_answered(read.code);
        self.on_read(read);
      },
      &leader_watch::look, urgency::background);
}

void leader_watch::on_read(const reply& read) {
  creates_.end();
  leader found{read.data, {read.stat.czxid, 0}};
  // `ask_to_release` has written over the id.
  if (found.id == release_request)
    found.id = seen_.who && seen_.who->term == found.term ? seen_.who->id : std::string{};
  see({.known = true, .who = std::move(found)});
}

/// A new container is not deleted before it has had a child. A client without permission to create it polls.
void leader_watch::on_missing() {
  const auto pause = std::exchange(refused_, false) ? std::nullopt : creates_.next();
  if (pause == duration::zero()) return make_path();
  if (pause) return after(*pause, &leader_watch::make_path);
  creates_.end();
  see({.known = true});
  look_later();
}

void leader_watch::make_path() {
  create_path_later(
      *core_, absolute_,
      [weak = weak_from_this()](const failure&) {
        if (const auto self = weak.lock()) self->refused_ = true;
      },
      [weak = weak_from_this()] { return weak.expired(); });
  look();
}

void leader_watch::not_answered(reply_code code) {
  if (!is_lost(code) && !std::exchange(denied_, true)) {
    const auto why = refusal(*core_, code, "the permission r on the path and on its children");
    log(log_level::warning, fmt::format("who leads cannot be read: {}", why.what), {{"path", path_}});
  }
  see({});
  look_later();
}

void leader_watch::look_later() { after(core_->session().info().timeout, &leader_watch::look); }

void leader_watch::forget() {
  anew();
  see({});
}

void leader_watch::see(leader_sighting what) {
  if (what.known) denied_ = false;
  if (what == seen_) return;
  seen_ = std::move(what);
  audience_->tell(*core_, seen_);
}

}  // namespace latchkey::detail
