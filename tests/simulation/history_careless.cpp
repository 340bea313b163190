// SPDX-License-Identifier: Apache-2.0
// Of a history: a user who repeats calls without waiting for their outcome.
#include <memory>
#include <utility>
#include <vector>

#include "queue/inquiry.hpp"
#include "recipes/election/leader_watch.hpp"
#include "recipes/sequencer/watched_nodes.hpp"
#include "simulation/history.hpp"

namespace latchkey::testing {
namespace {

using namespace std::chrono_literals;
using detail::operation;

/// More than may be under way at a time.
constexpr int times = 1200;
/// Of a client: each takes a while to simulate.
constexpr unsigned bursts = 3;

/// Off the paths that are watched: what is refused there is not told from what went wrong.
const std::string elsewhere = "/careless";

void ask_often(simulated_client& client, time_point until, const std::vector<detail::request>& what) {
  for (int i = 0; i < times; ++i) {
    client.run([&] { std::make_shared<detail::inquiry>(*client.core(), elsewhere, what)->start(until); });
  }
}

void follow_often(simulated_client& client, const std::string& path) {
  for (int i = 0; i < times; ++i) {
    const auto view = std::make_shared<detail::leader_watch>(client.core(), path, [](const leader_sighting&) {});
    view->open();
    view->shut();
  }
}

void call_often(simulated_client& client, lock_family family, detail::contender_kind mode) {
  simulated_lock lock{client, elsewhere + "/" + std::string{to_string(family)}, {family}};
  for (int i = 0; i < times; ++i) lock.cancel(lock.enter(1, mode), mode);
}

void queue_often(simulated_client& client) {
  simulated_lock lock{client, elsewhere + "/places", {lock_family::fair}};
  for (int i = 0; i < times; ++i) {
    const auto place = lock.make_place();
    lock.queue(place, 1);
    place->cancel();
  }
}

}  // namespace

void history::be_careless(simulated_client& client) {
  for (unsigned i = 0; i < bursts; ++i) {
    as_user(client, time_.random().between({}, plan_.faults), [this, &client] {
      if (!client.run([&] { return client.core()->failed(); })) repeat(client);
    });
  }
}

void history::repeat(simulated_client& client) {
  const auto path = lock_path(static_cast<unsigned>(time_.random().below(plan_.locks.size())));
  const auto soon = time_.now() + 1ms;
  const auto habit = time_.random().below(8);
  if (listener_) tell("a user repeats a call without waiting, of kind " + std::to_string(habit));
  switch (habit) {
    case 0:
      return follow_often(client, path);
    case 1:
      return follow_often(client, elsewhere + "/election");
    case 2:
      return ask_often(client, soon,
                       {{.kind = operation::sync, .path = path}, {.kind = operation::children, .path = path}});
    case 3:
      return ask_often(client, soon, {detail::question_about(path + "/x-lock-0000000001")});
    case 4:
      return call_often(client, lock_family::turns, detail::contender_kind::lock);
    case 5:
      return call_often(client, lock_family::shared, detail::contender_kind::read);
    case 6:
      return call_often(client, lock_family::permits, detail::contender_kind::permit);
    default:
      return queue_often(client);
  }
}

}  // namespace latchkey::testing
