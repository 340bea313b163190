// SPDX-License-Identifier: Apache-2.0
#include "recipes/queue_watch.hpp"

#include <utility>
#include <vector>

#include "base/path.hpp"
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
    : path_watch{std::move(core),
                 std::move(path),
                 std::move(changed),
                 {.callback = "the callback of a queue_view",
                  .denied = "the queue of a lock cannot be read",
                  .permission = "the permission r on the path"}} {}

void queue_watch::look() {
  anew();
  if (!connected()) return;
  watch_or_look({.kind = operation::children, .path = absolute()}, &queue_watch::on_listed, &queue_watch::look,
                urgency::background);
}

void queue_watch::on_listed(const reply& listed) {
  if (listed.code == reply_code::no_node) return on_missing();
  if (listed.code != reply_code::ok) return not_answered(listed.code);
  found_path();
  see({.known = true, .places = places_of(listed.children, last_component(absolute()))});
}

}  // namespace latchkey::detail
