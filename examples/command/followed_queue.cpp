// SPDX-License-Identifier: Apache-2.0
#include "followed_queue.hpp"

#include <algorithm>
#include <utility>

namespace command {
namespace {

constexpr const char* leases = "leases/";
constexpr const char* turns = "locks/";

}  // namespace

bool is_of_semaphore(const std::string& node) { return node.starts_with(leases) || node.starts_with(turns); }

followed_queue::followed_queue(latchkey::client& through, const std::string& path, bool semaphore,
                               std::function<void(const latchkey::queue_sighting&)> changed)
    : changed_{std::move(changed)}, folders_{{.prefix = ""}} {
  if (semaphore) folders_ = {{.prefix = leases}, {.prefix = ""}, {.prefix = turns}};
  for (auto& each : folders_) {
    const auto where = each.prefix.empty() ? path : path + "/" + each.prefix.substr(0, each.prefix.size() - 1);
    views_.push_back(std::make_unique<latchkey::queue_view>(
        through, where, [this, &each](const latchkey::queue_sighting& seen) { see(each, seen); }));
  }
}

void followed_queue::see(folder& where, const latchkey::queue_sighting& what) {
  const std::lock_guard lock{guard_};
  const bool first = !all().known;
  where.seen = what;
  for (auto& each : where.seen.places) each.node.insert(0, where.prefix);
  const auto now = all();
  if (now.known || !first) changed_(now);  // not at each of the folders that become known
}

latchkey::queue_sighting followed_queue::all() const {
  latchkey::queue_sighting sum{.known = true};
  for (const auto& each : folders_) {
    if (!each.seen.known) return {};
    sum.places.insert(sum.places.end(), each.seen.places.begin(), each.seen.places.end());
  }
  return sum;
}

}  // namespace command
