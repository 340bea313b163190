// SPDX-License-Identifier: Apache-2.0
#include <latchkey/client.hpp>

#include <algorithm>
#include <system_error>
#include <thread>
#include <utility>

#include <fmt/format.h>

#include "base/connect_string.hpp"
#include "bridge/blocked_signals.hpp"
#include "bridge/resolver.hpp"
#include "bridge/zookeeper_connector.hpp"
#include "session/client_core.hpp"

namespace latchkey {
namespace {

std::int64_t ceil_ms(detail::duration time) { return std::chrono::ceil<std::chrono::milliseconds>(time).count(); }

void validate(const client_options& options) {
  using namespace std::chrono_literals;
  const auto refuse = [](const char* what) { throw error{errc::bad_option, what}; };
  if (options.session_timeout < 1ms) refuse("client_options::session_timeout must be at least a millisecond");
  if (options.session_timeout > 24h) refuse("client_options::session_timeout must be at most a day");
  if (options.server_tick < 0ms) refuse("client_options::server_tick must not be negative");
  if (options.server_tick > 24h) refuse("client_options::server_tick must be at most a day");
  if (const auto least = detail::session_timing::shortest(options.server_tick); options.session_timeout < least) {
    throw error{errc::bad_option,
                fmt::format("no lease can be kept with a session timeout of {} ms on servers with a tickTime of {} ms; "
                            "ask for at least {} ms",
                            options.session_timeout.count(), options.server_tick.count(), ceil_ms(least))};
  }
  if (options.connect_timeout < 0ms) refuse("client_options::connect_timeout must not be negative");
  if (options.close_timeout < 0ms) refuse("client_options::close_timeout must not be negative");
  // What is sent with every create must fit into a request, and a label into the data that readers of a queue look at.
  if (options.label.size() > 512) refuse("client_options::label must be at most 512 bytes long");
  std::size_t bytes = 0;
  for (const auto& each : options.acl) bytes += each.scheme.size() + each.id.size();
  for (const auto& each : options.authentication) bytes += each.scheme.size() + each.data.size();
  if (bytes > 64 * 1024) refuse("client_options::acl and authentication must be at most 64 KiB together");
}

/// Asks the name servers on a thread of its own: a fiber that waits for them does not stop its neighbours.
void require_resolvable(const std::vector<std::string>& hosts) {
  std::string failure;
  bool resolved = false;
  const auto waiter = std::make_shared<detail::wait_point>();
  std::thread helper;
  {
    const detail::blocked_signals none;
    helper = std::thread{[&, waiter] {
      resolved = !detail::resolve(hosts, failure).empty();
      waiter->notify();
    }};
  }
  waiter->wait();
  helper.join();
  if (!resolved) {
    throw error{
        errc::unresolvable_host,
        fmt::format("no host of the connect string resolves ({}); check the names and the name servers", failure)};
  }
}

/// What the observer is granted for the last events, though `close_timeout` be over.
constexpr std::chrono::milliseconds for_last_events{100};

/// Waits for the callbacks that have been posted; one that has not returned by `until` is left to itself.
void end_events(detail::client_core& core, detail::time_point until) {
  auto& monitor = core.monitor();
  const auto ended = std::make_shared<detail::wait_point>();
  auto timer = monitor.run([&] { return monitor.at(until, [&monitor, ended] { monitor.wake(ended); }); });
  core.events().stop([ended] { ended->notify(); });
  ended->wait();
  monitor.run([&] { monitor.cancel(timer); });
  core.events().abandon();
}

}  // namespace

client::client(std::string connect_string, client_options options) {
  validate(options);
  constexpr std::chrono::milliseconds longest = std::chrono::hours{24 * 365};  // as good as any time beyond
  options.connect_timeout = std::min<std::chrono::milliseconds>(options.connect_timeout, longest);
  options.close_timeout = std::min<std::chrono::milliseconds>(options.close_timeout, longest);
  auto [hosts, chroot] = detail::parse_connect_string(connect_string);
  require_resolvable(hosts);
  auto opener = std::make_unique<detail::zookeeper_connector>(detail::connector_options{
      std::move(hosts), options.session_timeout, options.authentication, options.acl, options.tls});
  auto monitor = std::make_shared<detail::monitor>(&boottime_clock::now);
  core_ = std::make_shared<detail::client_core>(std::move(options), std::move(chroot), std::move(monitor),
                                                std::move(opener));
  core_->start_timers();
  core_->monitor().run([this] { core_->open(); });
}

client::~client() {
  try {
    close();
  } catch (const std::exception&) {
    // Only a destructor on the event thread gets here, which the contract excludes: the session expires by itself.
  }
}

void client::close() {
  if (core_->events().is_this_thread()) {
    throw std::system_error{std::make_error_code(std::errc::resource_deadlock_would_occur),
                            "a callback of the client called close(); close it on another thread"};
  }
  const auto waiter = std::make_shared<detail::wait_point>();
  auto& monitor = core_->monitor();
  const auto until = detail::deadline_after(monitor.now(), core_->options().close_timeout);
  monitor.run([&] { core_->close([&monitor, waiter] { monitor.wake(waiter); }); });
  waiter->wait();
  end_events(*core_, std::max(until, detail::deadline_after(monitor.now(), for_last_events)));
  core_->stop_threads();
}

bool client::wait_for_connection(saturating<std::chrono::nanoseconds> timeout) {
  const auto waiter = std::make_shared<detail::wait_point>();
  auto& monitor = core_->monitor();
  detail::timer_id timer;
  std::uint64_t connection = 0;
  const auto done = [this] { return core_->failed() || core_->session().connected(); };
  monitor.run([&] {
    const auto wake = [&monitor, waiter] { monitor.wake(waiter); };
    if (done()) return wake();
    connection = core_->when_connected(wake);
    timer = monitor.at(detail::deadline_after(monitor.now(), timeout), wake);
  });
  waiter->wait();
  return monitor.run([&] {
    monitor.cancel(timer);
    core_->forget_connected(connection);
    if (core_->failed()) core_->failed()->raise();
    return core_->session().connected();
  });
}

bool client::connected() const {
  return core_->monitor().run([this] { return core_->session().connected(); });
}

std::chrono::milliseconds client::session_timeout() const {
  return core_->monitor().run([this] { return core_->session().info().timeout; });
}

std::int64_t client::session_id() const {
  return core_->monitor().run([this] { return core_->session().info().id; });
}

std::string_view to_string(client_event::kind kind) noexcept {
  switch (kind) {
    case client_event::kind::connected:
      return "connected";
    case client_event::kind::disconnected:
      return "disconnected";
    case client_event::kind::session_expired:
      return "session expired";
    case client_event::kind::suspect:
      return "suspect";
    case client_event::kind::lost:
      return "lost";
    case client_event::kind::asked_to_release:
      return "asked to release";
    case client_event::kind::closed:
      return "closed";
  }
  return "unknown";
}

}  // namespace latchkey
