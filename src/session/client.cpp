// SPDX-License-Identifier: Apache-2.0
#include <latchkey/client.hpp>

#include <algorithm>
#include <atomic>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "base/connect_string.hpp"
#include "base/log.hpp"
#include "base/process.hpp"
#include "base/secrets.hpp"
#include "bridge/resolver.hpp"
#include "bridge/udp_port.hpp"
#include "bridge/zookeeper_connector.hpp"
#include "session/client_core.hpp"
#include "session/option_check.hpp"
#include "session/session_file.hpp"
#include "session/simulated_servers.hpp"
#include "session/waiting_call.hpp"

namespace latchkey {
namespace {

/// Overwrites what has not been handed over.
struct wiped_at_end {
  client_options& options;

  ~wiped_at_end() {
    detail::wipe(options.authentication);
    detail::wipe(options.tls);
  }
};

std::optional<detail::session_file> open_records(const client_options& options) {
  if (options.session_file.empty()) return std::nullopt;
  return std::optional<detail::session_file>{std::in_place, options.session_file, detail::session_file::purpose::keep};
}

/// @returns whether a session of the file was one on other servers.
bool names_others(const detail::session_file& records, const detail::connect_string& servers) {
  return std::any_of(records.sessions().begin(), records.sessions().end(),
                     [own = servers.list()](const auto& each) { return each.servers != own; });
}

/// However short `connect_timeout` is.
constexpr std::chrono::milliseconds least_for_name_servers{1000};

/// On threads of their own: a fiber that waits for name servers does not stop its neighbours.
void require_resolvable(detail::monitor& own, detail::zookeeper_connector& opener, detail::duration timeout) {
  struct resolution {
    std::string failure;
    std::atomic<bool> answered{false};  // written after that
    detail::wait_point point;
  };
  const auto asked = std::make_shared<resolution>();
  opener.ask_name_servers([asked](std::string failure) {
    asked->failure = std::move(failure);
    asked->answered = true;
    asked->point.notify();
  });
  auto timer = own.run([&] { return own.in(timeout, [&own, asked] { own.wake({asked, &asked->point}); }); });
  asked->point.wait();
  own.run([&] { own.cancel(timer); });
  if (!asked->answered) {
    throw error{errc::unresolvable_host,
                fmt::format("no name server has answered within {} ms; check the names and the name servers, or raise "
                            "client_options::connect_timeout",
                            std::chrono::ceil<std::chrono::milliseconds>(timeout).count())};
  }
  if (!asked->failure.empty()) {
    throw error{errc::unresolvable_host, fmt::format("{}; check the names and the name servers", asked->failure)};
  }
}

/// What the observer is granted for the last events, though `close_timeout` be over.
constexpr std::chrono::milliseconds for_last_events{1000};

/// Waits for the callbacks that have been posted; one that has not returned by `until` is left to itself. So is the one
/// that this is called from.
void end_events(detail::client_core& core, detail::time_point until) {
  if (core.events().is_this_thread()) {
    core.events().stop([] {});
    core.events().abandon();
    return;
  }
  auto& monitor = core.monitor();
  const auto ended = std::make_shared<detail::wait_point>();
  auto timer = monitor.run([&] { return monitor.at(until, [&monitor, ended] { monitor.wake(ended); }); });
  core.events().stop([ended] { ended->notify(); });
  ended->wait();
  monitor.run([&] { monitor.cancel(timer); });
  const auto left = core.events().abandon();
  if (left.number == 0) return;
  detail::log(
      log_level::warning,
      fmt::format("{} is still running, and the client closes without it; what it uses must outlive it", left.name));
}

void shut(detail::client_core& core) {
  const auto waiter = std::make_shared<detail::wait_point>();
  auto& monitor = core.monitor();
  const auto until = detail::deadline_after(monitor.now(), core.options().close_timeout);
  monitor.run([&] { core.close([&monitor, waiter] { monitor.wake(waiter); }); });
  waiter->wait();
  end_events(core, std::max(until, detail::deadline_after(monitor.now(), for_last_events)));
  core.stop_threads();
}

/// In a child there are no threads to end, and the session is the parent's.
void destroy_unless_forked(detail::client_core* core) noexcept {
  if (!core->monitor().forked()) return delete core;
  detail::keep_for_ever({core, [](const void*) {}});
}

/// Waits for the connection, or the end of the client.
class connection_call final : public detail::waiting_call<bool> {
 public:
  connection_call(std::shared_ptr<detail::client_core> core, detail::duration timeout)
      : waiting_call{std::move(core)}, timeout_{timeout} {}

 private:
  std::shared_ptr<detail::wait_point> first() override {
    auto& monitor = core().monitor();
    return monitor.run([&]() -> std::shared_ptr<detail::wait_point> {
      connected_ = core().session().connected();
      if (core().failed() || connected_) return nullptr;
      const auto self = std::static_pointer_cast<connection_call>(shared_from_this());
      connection_ = core().when_connected([self] {
        self->connected_ = self->core().session().connected();  // it may be lost again before the caller runs
        self->stop();
      });
      timer_ = monitor.at(detail::deadline_after(monitor.now(), timeout_), [self] { self->stop(); });
      return point_;
    });
  }
  void stop() override { core().monitor().wake(point_); }
  bool finish() override {
    undo();
    return core().monitor().run([this] {
      if (core().failed()) core().failed()->throw_it();
      return connected_;
    });
  }
  void undo() noexcept override {
    core().monitor().run_unless_forked([this] {
      core().monitor().cancel(timer_);
      core().forget_connected(connection_);
    });
  }

  const detail::duration timeout_;
  const std::shared_ptr<detail::wait_point> point_ = std::make_shared<detail::wait_point>();
  detail::timer_id timer_;
  std::uint64_t connection_ = 0;
  bool connected_ = false;
};

}  // namespace

std::shared_ptr<detail::pending<bool>> detail::asynchronous::begin_to_connect(client& which,
                                                                              std::chrono::nanoseconds timeout) {
  return begin_call<connection_call>({}, which.core(), timeout);
}

client::client(given_text<std::string> connect_string, client_options options) {
  const wiped_at_end left_over{options};
  detail::check(options);
  auto servers = detail::parse_connect_string(*connect_string);
  auto records = open_records(options);
  client_options for_others;
  const wiped_at_end copied{for_others};
  if (records && names_others(*records, servers)) for_others = options;
  auto opener = std::make_unique<detail::zookeeper_connector>(detail::connector_options{
      servers.hosts, options.session_timeout, std::move(options.authentication), options.acl, std::move(options.tls)});
  auto monitor = std::make_shared<detail::monitor>(&boottime_clock::now);
  auto port =
      options.peers ? std::make_unique<detail::udp_port>(options.peers->listen, options.peers->advertise) : nullptr;
  auto& names = *opener;
  auto* const receiving = port.get();
  core_ = {new detail::client_core{std::move(options), servers, std::move(monitor), std::move(opener), std::move(port),
                                   std::move(records)},
           &destroy_unless_forked};
  core_->start_timers(receiving);
  const auto patience = std::max<std::chrono::milliseconds>(core_->options().connect_timeout, least_for_name_servers);
  if (!detail::are_addresses(servers.hosts)) require_resolvable(core_->monitor(), names, patience);
  core_->monitor().run(
      [&] { core_->open([&](const std::string& hosts) { return detail::make_connector(hosts, for_others); }); });
}

client::client(const std::shared_ptr<detail::simulated_servers>& ensemble, client_options options) {
  const wiped_at_end left_over{options};
  detail::check(options);
  auto records = open_records(options);
  auto opener = ensemble->connect(options.session_timeout);
  auto& driver = *opener;
  auto monitor = std::make_shared<detail::monitor>([ensemble] { return ensemble->now(); });
  core_ = {
      new detail::client_core{
          std::move(options), {{"simulated:2181"}, {}}, std::move(monitor), std::move(opener), {}, std::move(records)},
      &destroy_unless_forked};
  driver.drive(*core_);
  core_->monitor().run([this] { core_->open(); });
}

client::~client() {
  if (core_->monitor().forked()) return;
  try {
    shut(*core_);
  } catch (const std::exception&) {  // no memory: the session expires by itself
  }
}

void client::close() {
  if (core_->monitor().forked()) return;
  if (core_->events().is_this_thread()) {
    throw std::system_error{std::make_error_code(std::errc::resource_deadlock_would_occur),
                            "a callback of the client called close(); close it on another thread"};
  }
  shut(*core_);
}

bool client::wait_for_connection(saturating<std::chrono::nanoseconds> timeout) {
  return await(detail::asynchronous::begin_to_connect(*this, timeout));
}

bool client::connected() const {
  return core_->monitor().run_unless_forked([this] { return core_->session().connected(); });
}

std::string client::why_not_connected() const {
  return core_->monitor().run_unless_forked([this] { return core_->why_not_connected(); });
}

std::chrono::milliseconds client::session_timeout() const {
  return core_->monitor().run_unless_forked([this] { return core_->session().info().timeout; });
}

std::int64_t client::session_id() const {
  return core_->monitor().run_unless_forked([this] { return core_->failed() ? 0 : core_->session().info().id; });
}

client_metrics client::metrics() const {
  return core_->monitor().run_unless_forked([this] { return core_->metrics(); });
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
    case client_event::kind::unreachable:
      return "unreachable";
  }
  return "unknown";
}

}  // namespace latchkey
