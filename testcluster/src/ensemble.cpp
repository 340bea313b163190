// SPDX-License-Identifier: Apache-2.0
#include "latchkey/testing/ensemble.hpp"

#include <unistd.h>

#include <algorithm>
#include <functional>
#include <thread>
#include <utility>

#include "connection.hpp"
#include "deadline.hpp"
#include "end_session.hpp"
#include "link_proxies.hpp"
#include "server_process.hpp"
#include "temporary_folder.hpp"

namespace latchkey::testing {

using namespace std::chrono_literals;
using detail::steady;
using std::chrono::milliseconds;

namespace {

constexpr auto poll_interval = 20ms;
constexpr auto probe_timeout = 5'000ms;
constexpr auto stop_grace = 5'000ms;

milliseconds until(steady::time_point deadline) {
  return std::max(1ms, std::chrono::ceil<milliseconds>(deadline - steady::now()));
}

constexpr int requires_authentication = -124;  // "session closed requires SASL auth": a refusal by one that serves

/// Opens a session, writes, and closes it; an ephemeral node leaves nothing behind.
void write_through(const endpoint& server, milliseconds timeout) {
  raw_client client{server, {.session_timeout = 5s, .request_timeout = timeout}};
  try {
    client.create("/testcluster-is-it-ready-", {}, create_mode::ephemeral_sequential);
    client.close();
  } catch (const operation_failed& failure) {
    if (failure.code() != requires_authentication) throw;
  }
}

}  // namespace

struct ensemble::impl {
  explicit impl(ensemble_options given) : how(std::move(given)), folder(how.data_dir) {}

  ~impl() { kill_all(); }

  detail::server_process& at(std::size_t server) const { return *servers.at(server); }

  void kill_all() noexcept {
    for (auto& server : servers) server->process.signal(SIGKILL);
    for (auto& server : servers) server->process.kill();
  }

  /// Gives every server its ports and launches them side by side.
  void launch_all() {
    servers.clear();
    ports.clear();
    own_lines.assign(how.servers, {});
    for (std::size_t i = 0; i < how.servers; ++i) {
      servers.push_back(std::make_unique<detail::server_process>(i, folder.path() / ("server" + std::to_string(i))));
      ports.push_back(servers.back()->ports());
    }
    if (how.quorum_proxies) links = std::make_unique<detail::link_proxies>(ports);
    for (std::size_t i = 0; i < how.servers; ++i) configure(i, {});
    for (auto& server : servers) server->launch(how);
  }

  void configure(std::size_t server, const std::vector<std::string>& lines) {
    own_lines.at(server) = lines;
    write_configuration(server);
  }
  void write_configuration(std::size_t server) const {
    at(server).configure(how, links ? links->view_of(server) : ports, own_lines.at(server));
  }

  void start_all() {
    constexpr int attempts = 3;
    for (int attempt = 1;; ++attempt) {
      launch_all();
      try {
        const auto deadline = detail::deadline_after(how.start_timeout);
        for (std::size_t i = 0; i < how.servers; ++i) wait_until_serving(i, deadline);
        return;
      } catch (const cluster_error&) {
        const bool lost_port = std::ranges::any_of(servers, [](const auto& s) { return s->lost_its_port(); });
        if (!lost_port || attempt == attempts) throw;
        kill_all();
        for (auto& server : servers) std::filesystem::remove_all(server->log().parent_path());
      }
    }
  }

  bool running(std::size_t server) const { return at(server).process.alive() && !at(server).process.paused(); }

  bool majority_runs() const {
    std::size_t count = 0;
    for (std::size_t i = 0; i < how.servers; ++i) count += running(i) ? 1 : 0;
    return count > how.servers / 2;
  }

  void wait_until_serving(std::size_t server, steady::time_point deadline) const {
    std::string reason = "no answer";
    for (;;) {
      if (!at(server).process.alive()) {
        throw cluster_error("server " + std::to_string(server) + " is not running\n" + at(server).log_tail());
      }
      try {
        static_cast<void>(
            four_letter_words{at(server).address(), probe_timeout}.srvr());  // cheap while it does not serve
        write_through(at(server).address(), std::min<milliseconds>(probe_timeout, until(deadline)));
        return;
      } catch (const cluster_error& failure) {
        reason = failure.what();
      }
      if (steady::now() >= deadline) {
        throw cluster_error("server " + std::to_string(server) + " does not serve in time: " + reason + "\n" +
                            at(server).log_tail());
      }
      std::this_thread::sleep_for(poll_interval);
    }
  }

  std::optional<server_summary> summary(std::size_t server) const try {
    return running(server) ? std::optional{four_letter_words{at(server).address(), probe_timeout}.srvr()}
                           : std::nullopt;
  } catch (const cluster_error&) {
    return std::nullopt;
  }

  std::optional<std::size_t> leader() const {
    std::optional<std::size_t> found;
    std::int64_t newest = -1;
    for (std::size_t i = 0; i < how.servers; ++i) {
      const auto state = summary(i);
      if (!state || (state->mode != "leader" && state->mode != "standalone")) continue;
      if (const auto epoch = state->zxid >> 32U; epoch > newest) {
        newest = epoch;
        found = i;
      }
    }
    return found;
  }

  std::size_t wait_for_leader(steady::time_point deadline) const {
    for (;;) {
      if (const auto found = leader()) return *found;
      if (steady::now() >= deadline) throw cluster_error("no server leads in time");
      std::this_thread::sleep_for(poll_interval);
    }
  }

  bool expire(const session_credentials& session) const {
    const auto deadline = detail::deadline_after(how.start_timeout);
    for (bool tried = false;; tried = true) {
      try {
        detail::end_session(at(wait_for_leader(deadline)).address(), session,
                            std::min<milliseconds>(5s, until(deadline)));
        return true;
      } catch (const session_refused&) {
        return tried;  // an earlier attempt has ended it, though its reply was lost
      } catch (const connection_failure&) {
        if (steady::now() >= deadline) throw;
      }
      std::this_thread::sleep_for(poll_interval);
    }
  }

  detail::link_proxies& hurtable_links() const {
    if (!links) throw cluster_error("faults of links need ensemble_options::quorum_proxies");
    return *links;
  }

  std::unique_ptr<raw_client> client() const {
    return std::make_unique<raw_client>(at(wait_for_leader(detail::deadline_after(how.start_timeout))).address());
  }

  const ensemble_options how;
  const pid_t owner = ::getpid();
  detail::temporary_folder folder;
  std::vector<detail::peer_address> ports;
  std::vector<std::vector<std::string>> own_lines;  // of each server's configuration
  std::unique_ptr<detail::link_proxies> links;
  std::vector<std::unique_ptr<detail::server_process>> servers;
};

ensemble::ensemble(ensemble_options how) {
  if (how.servers == 0) throw cluster_error("an ensemble needs at least one server");
  if (how.tick < 1ms) throw cluster_error("ensemble_options::tick is below a millisecond");
  impl_ = std::make_unique<impl>(std::move(how));
  impl_->start_all();
}

ensemble::~ensemble() {
  if (impl_->owner != ::getpid())
    static_cast<void>(impl_.release());  // a forked child: threads and servers are not ours
}

std::size_t ensemble::size() const noexcept { return impl_->how.servers; }
const ensemble_options& ensemble::options() const noexcept { return impl_->how; }

std::string ensemble::connect_string() const {
  std::string all;
  for (const auto& server : addresses()) all += (all.empty() ? "" : ",") + server.to_string();
  return all;
}

std::string ensemble::connect_string(std::size_t server) const { return address(server).to_string(); }
endpoint ensemble::address(std::size_t server) const { return impl_->at(server).address(); }

std::vector<endpoint> ensemble::addresses() const {
  std::vector<endpoint> all;
  for (std::size_t i = 0; i < size(); ++i) all.push_back(address(i));
  return all;
}

std::filesystem::path ensemble::data_dir() const { return impl_->folder.path(); }
std::filesystem::path ensemble::log(std::size_t server) const { return impl_->at(server).log(); }
int ensemble::pid(std::size_t server) const { return impl_->at(server).process.pid(); }
bool ensemble::running(std::size_t server) const { return impl_->running(server); }

void ensemble::stop(std::size_t server) { impl_->at(server).process.stop(stop_grace); }
void ensemble::kill(std::size_t server) { impl_->at(server).process.kill(); }
void ensemble::pause(std::size_t server) {
  impl_->at(server).resume_threads();  // a stopped one would not take part
  impl_->at(server).process.pause();
}
void ensemble::resume(std::size_t server) { impl_->at(server).process.resume(); }

void ensemble::pause_pings(std::size_t server) {
  auto& target = impl_->at(server);
  if (!target.pings) target.pings.emplace(target.process.pid(), "QuorumPeer[myid");
}
void ensemble::resume_pings(std::size_t server) { impl_->at(server).pings.reset(); }

void ensemble::stall_disk(std::size_t server) {
  auto& target = impl_->at(server);
  if (!target.log_writers) target.log_writers.emplace(target.process.pid(), "SyncThread:");
}
void ensemble::resume_disk(std::size_t server) { impl_->at(server).log_writers.reset(); }

void ensemble::fill_disk(std::size_t server) {
  if (pid(server) == 0) throw cluster_error("server " + std::to_string(server) + " does not run");
  impl_->at(server).limit_files(true);
}
void ensemble::free_disk(std::size_t server) { impl_->at(server).limit_files(false); }

void ensemble::configure(std::size_t server, const std::vector<std::string>& config_lines) {
  impl_->configure(server, config_lines);
}

void ensemble::use_class_path(std::size_t server, std::string class_path) {
  impl_->at(server).class_path = std::move(class_path);
}

void ensemble::move(std::size_t server, std::string host) {
  impl_->at(server).move(std::move(host));
  impl_->write_configuration(server);
}

void ensemble::start(std::size_t server) {
  auto& target = impl_->at(server);
  if (!target.process.alive()) target.launch(impl_->how);
  if (impl_->majority_runs()) wait_until_serving(server, impl_->how.start_timeout);
}

void ensemble::restart(std::size_t server) {
  kill(server);
  start(server);
}

std::optional<std::size_t> ensemble::leader() const { return impl_->leader(); }

std::vector<std::size_t> ensemble::followers() const {
  std::vector<std::size_t> all;
  for (std::size_t i = 0; i < size(); ++i) {
    if (const auto state = impl_->summary(i); state && state->mode == "follower") all.push_back(i);
  }
  return all;
}

std::size_t ensemble::wait_for_leader(milliseconds timeout) {
  return impl_->wait_for_leader(detail::deadline_after(timeout));
}

void ensemble::wait_for_quorum(milliseconds timeout) {
  const auto deadline = detail::deadline_after(timeout);
  for (;;) {
    try {
      write_through(address(impl_->wait_for_leader(deadline)), std::min<milliseconds>(probe_timeout, until(deadline)));
      return;
    } catch (const cluster_error& failure) {
      if (steady::now() >= deadline) throw cluster_error(std::string{"no quorum in time: "} + failure.what());
    }
    std::this_thread::sleep_for(poll_interval);
  }
}

void ensemble::wait_until_serving(std::size_t server, milliseconds timeout) {
  impl_->wait_until_serving(server, detail::deadline_after(timeout));
}

void ensemble::isolate(std::size_t server, link_fault how) { impl_->hurtable_links().isolate(server, how); }

void ensemble::hold_back(std::size_t server, direction which) {
  impl_->hurtable_links().hold_back(server, which, true);
}

void ensemble::release(std::size_t server, direction which) { impl_->hurtable_links().hold_back(server, which, false); }

detail::steady::time_point ensemble::last_passed(std::size_t server, direction which) const {
  return impl_->hurtable_links().last_passed(server, which);
}

void ensemble::heal(std::size_t server) {
  if (impl_->links) impl_->links->heal(server);
}

void ensemble::heal() {
  for (std::size_t i = 0; i < size(); ++i) heal(i);
}

bool ensemble::expire(const session_credentials& session) { return impl_->expire(session); }
bool ensemble::expire(std::int64_t session_id) { return session_id != 0 && expire(credentials_of(session_id)); }

four_letter_words ensemble::admin(std::size_t server) const { return four_letter_words{address(server)}; }

std::string ensemble::create(std::string_view path, std::string_view data, create_mode mode) {
  return impl_->client()->create(path, data, mode);
}
void ensemble::create_all(std::string_view path) { impl_->client()->create_all(path); }
bool ensemble::remove(std::string_view path) { return impl_->client()->remove(path); }
bool ensemble::remove_all(std::string_view path) { return impl_->client()->remove_all(path); }
void ensemble::set(std::string_view path, std::string_view data) { impl_->client()->set(path, data); }
std::optional<std::string> ensemble::get(std::string_view path) { return impl_->client()->get(path); }
std::optional<node_stat> ensemble::exists(std::string_view path) { return impl_->client()->exists(path); }
std::vector<std::string> ensemble::children(std::string_view path) { return impl_->client()->children(path); }

}  // namespace latchkey::testing
