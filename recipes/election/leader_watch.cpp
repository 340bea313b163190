// SPDX-License-Identifier: Apache-2.0
#include "recipes/election/leader_watch.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "base/path.hpp"
#include "queue/admission.hpp"
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
    : path_watch{std::move(core),
                 std::move(path),
                 std::move(changed),
                 {.callback = "the callback of a leader_view",
                  .denied = "who leads cannot be read",
                  .permission = "the permission r on the path and on its children"}} {}

void leader_watch::look() { list(false); }

void leader_watch::list(bool watching) {
  anew();
  if (!connected()) return;
  request children{.kind = operation::children, .path = absolute()};
  const auto on_listed = [watching](leader_watch& self, const reply& listed) {
    if (listed.code == reply_code::no_node) return self.on_missing();
    if (listed.code != reply_code::ok) return self.not_answered(listed.code);
    self.found_path();
    if (const auto first = first_of(listed.children); !first.empty()) return self.read(first);
    if (!watching) return self.list(true);
    self.see({.known = true});
  };
  if (!watching) return ask(std::move(children), on_listed, urgency::background);
  watch_or_look(std::move(children), on_listed, &leader_watch::look, urgency::background);
}

void leader_watch::read(const std::string& name) {
  anew();
  watch_or_look(
      {.kind = operation::get, .path = join(absolute(), name)},
      [](leader_watch& self, const reply& read) {
        if (read.code == reply_code::no_node) return self.look();
        if (read.code != reply_code::ok) return self.not_answered(read.code);
        self.on_read(read);
      },
      &leader_watch::look, urgency::background);
}

void leader_watch::on_read(const reply& read) {
  leader found{read.data, {read.stat.czxid, 0}};
  // `ask_to_release` has written over the id.
  if (found.id == release_request)
    found.id = seen().who && seen().who->term == found.term ? seen().who->id : std::string{};
  see({.known = true, .who = std::move(found)});
}

}  // namespace latchkey::detail
