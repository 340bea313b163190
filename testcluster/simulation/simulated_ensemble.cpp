// SPDX-License-Identifier: Apache-2.0
#include <latchkey/testing/simulated_ensemble.hpp>

#include <stdexcept>

#include "base/path.hpp"
#include "session/client_core.hpp"
#include "simulation/ensemble_thread.hpp"
#include "simulation/thread_connector.hpp"

namespace latchkey::testing {
namespace {

/// Does something to the connection of a client.
template <class Action>
void perform_on(ensemble_thread& thread, const client& whose, Action what) {
  bool found = false;
  thread.perform([&] {
    auto* const connection = thread.client_of(whose.core().get());
    if (!connection) return;
    found = true;
    what(connection->servers());
  });
  if (!found) throw std::invalid_argument{"the client is not one of this simulated ensemble"};
}

void delete_all(fake_ensemble& ensemble, const std::string& path) {
  for (const auto& name : ensemble.children(path)) delete_all(ensemble, (path == "/" ? "" : path) + '/' + name);
  ensemble.remove(path);
}

}  // namespace

simulated_ensemble::simulated_ensemble() : thread_{ensemble_thread::start()}, servers_{thread_} {}

simulated_ensemble::~simulated_ensemble() = default;

void simulated_ensemble::expire_session(const client& whose) {
  perform_on(*thread_, whose, [&](fake_connector& connection) {
    const auto* const latest = connection.latest();
    if (latest && latest->session()) thread_->ensemble().expire(latest->session()->id);
  });
}

void simulated_ensemble::cut(const client& whose) {
  perform_on(*thread_, whose, [](fake_connector& connection) { connection.cut(); });
}

void simulated_ensemble::cut() {
  thread_->perform([this] {
    thread_->all_cut = true;
    for (auto* const each : thread_->clients()) each->servers().cut();
  });
}

void simulated_ensemble::heal(const client& whose) {
  perform_on(*thread_, whose, [](fake_connector& connection) { connection.heal(); });
}

void simulated_ensemble::heal() {
  thread_->perform([this] {
    thread_->all_cut = false;
    for (auto* const each : thread_->clients()) each->servers().heal();
  });
}

void simulated_ensemble::abandon(client& whose) {
  perform_on(*thread_, whose, [](fake_connector& connection) { connection.abandon(); });
  auto& core = *whose.core();
  core.monitor().run([&] { core.abandon(); });
}

bool simulated_ensemble::delete_node(std::string_view path) {
  detail::validate_path(path);
  bool existed = false;
  thread_->perform([&] {
    existed = thread_->ensemble().exists(path);
    delete_all(thread_->ensemble(), std::string{path});
  });
  return existed;
}

std::vector<std::string> simulated_ensemble::children(std::string_view path) const {
  detail::validate_path(path);
  std::vector<std::string> names;
  thread_->perform([&] { names = thread_->ensemble().children(path); });
  return names;
}

void simulated_ensemble::advance(saturating<std::chrono::nanoseconds> by) {
  constexpr std::chrono::nanoseconds longest = std::chrono::hours{24 * 31};
  if (by < std::chrono::nanoseconds::zero()) throw std::invalid_argument{"advance() does not turn the clock back"};
  if (by > longest)
    throw std::invalid_argument{"advance() runs all that happens until then: at most 31 days at a time"};
  thread_->perform([this, by] { thread_->advance(by); });
}

boottime_clock::time_point simulated_ensemble::now() const noexcept { return thread_->now(); }

}  // namespace latchkey::testing
