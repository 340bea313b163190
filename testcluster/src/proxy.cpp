// SPDX-License-Identifier: Apache-2.0
#include "latchkey/testing/proxy.hpp"

#include <list>

#include "event_loop.hpp"
#include "listener.hpp"
#include "proxy_connection.hpp"
#include "proxy_core.hpp"

namespace latchkey::testing {

using detail::fate;
using detail::observations;
using detail::proxy_connection;
using std::chrono::milliseconds;

namespace {

enum class network { healthy, cut, black_hole, black_hole_to_servers, black_hole_to_clients };

/// One server as the client sees it.
class front {
 public:
  front(boost::asio::io_context& io, detail::proxy_core& core, std::size_t index, const endpoint& server,
        std::uint16_t port)
      : io_(io),
        core_(core),
        index_(index),
        door_(
            io, [this](auto socket) { accept(std::move(socket)); }, port) {
    boost::system::error_code error;
    const auto found = boost::asio::ip::tcp::resolver{io}.resolve(server.host, std::to_string(server.port), error);
    if (error) throw cluster_error(server.to_string() + ": " + error.message());
    target_ = found.begin()->endpoint();
  }

  void set(network state) {
    state_ = state;
    if (state == network::cut) {
      door_.shut();
      return disconnect();
    }
    door_.open();
    each_connection([&](proxy_connection& c) { block(c); });
  }

  void disconnect() {
    each_connection([](proxy_connection& c) { c.close(); });
    connections_.clear();
  }

  template <class Visit>
  void each_connection(Visit visit) {
    std::erase_if(connections_, [](const auto& c) { return c->closed(); });
    for (auto& c : connections_) visit(*c);
  }

  [[nodiscard]] endpoint address() const { return {"127.0.0.1", door_.port()}; }

 private:
  void accept(boost::asio::ip::tcp::socket socket) {
    std::erase_if(connections_, [](const auto& c) { return c->closed(); });
    connections_.push_back(std::make_shared<proxy_connection>(io_, core_, std::move(socket), index_, target_));
    block(*connections_.back());
  }

  void block(proxy_connection& what) const {
    const bool both = state_ == network::black_hole;
    what.block(both || state_ == network::black_hole_to_servers, both || state_ == network::black_hole_to_clients);
  }

  boost::asio::io_context& io_;
  detail::proxy_core& core_;
  std::size_t index_;
  boost::asio::ip::tcp::endpoint target_;
  network state_ = network::healthy;
  std::list<std::shared_ptr<proxy_connection>> connections_;
  detail::listener door_;
};

/// Requests that tests count: what the application asked for.
bool counts(opcode operation) {
  return operation != opcode::ping && operation != opcode::auth && operation != opcode::sasl;
}

}  // namespace

struct proxy::impl {
  void set(network state) {
    loop.run([&] {
      for (auto& each : fronts) each->set(state);
    });
  }
  void set(std::size_t server, network state) {
    loop.run([&] { fronts.at(server)->set(state); });
  }
  template <class Visit>
  void each_connection(Visit visit) {
    for (auto& each : fronts) each->each_connection(visit);
  }
  void arm(opcode operation, fate what) {
    loop.run([&] {
      core.armed.arm(operation, what);
      core.publish_faults();
    });
  }

  detail::event_loop loop;  // first, so that it outlives the sockets
  detail::proxy_core core;
  std::vector<std::unique_ptr<front>> fronts;
};

proxy::proxy(std::vector<endpoint> servers, std::uint16_t first_port) : impl_(std::make_unique<impl>()) {
  impl_->loop.run([&] {
    for (const auto& server : servers) {
      const auto index = impl_->fronts.size();
      const auto port = static_cast<std::uint16_t>(first_port == 0 ? 0 : first_port + index);
      impl_->fronts.push_back(std::make_unique<front>(impl_->loop.io(), impl_->core, index, server, port));
      impl_->fronts.back()->set(network::healthy);
    }
  });
}

proxy::~proxy() {
  cut();
  impl_->loop.stop();
}

std::string proxy::connect_string() const {
  std::string all;
  for (const auto& each : impl_->fronts) all += (all.empty() ? "" : ",") + each->address().to_string();
  return all;
}

std::string proxy::connect_string(std::size_t server) const { return address(server).to_string(); }
endpoint proxy::address(std::size_t server) const { return impl_->fronts.at(server)->address(); }

void proxy::cut() { impl_->set(network::cut); }
void proxy::cut(std::size_t server) { impl_->set(server, network::cut); }
void proxy::black_hole() { impl_->set(network::black_hole); }
void proxy::black_hole_to_servers() { impl_->set(network::black_hole_to_servers); }
void proxy::black_hole_to_clients() { impl_->set(network::black_hole_to_clients); }
void proxy::black_hole(std::size_t server) { impl_->set(server, network::black_hole); }
void proxy::heal(std::size_t server) { impl_->set(server, network::healthy); }

void proxy::heal() {
  impl_->loop.run([this] {
    impl_->core.delay = milliseconds{0};
    impl_->core.armed.disarm();
    impl_->each_connection([](proxy_connection& c) {
      c.forget_fates();
      c.release_held();
    });
    impl_->core.publish_faults();
  });
  impl_->set(network::healthy);
}

void proxy::disconnect() {
  impl_->loop.run([this] {
    for (auto& each : impl_->fronts) each->disconnect();
  });
}

void proxy::delay(milliseconds one_way) {
  impl_->loop.run([&] { impl_->core.delay = one_way; });
}

void proxy::drop_next(opcode operation) { impl_->arm(operation, fate::drop); }
void proxy::drop_reply_of_next(opcode operation) { impl_->arm(operation, fate::drop_reply); }
void proxy::hold_reply_of_next(opcode operation) { impl_->arm(operation, fate::hold_reply); }

void proxy::release_held() {
  impl_->loop.run([this] { impl_->each_connection([](proxy_connection& c) { c.release_held(); }); });
}

std::map<std::string, std::uint64_t> proxy::requests() const {
  return impl_->core.seen.look([](const observations& seen) {
    std::map<std::string, std::uint64_t> named;
    for (const auto& [operation, count] : seen.requests) {
      if (counts(operation)) named[to_string(operation)] = count;
    }
    return named;
  });
}

std::uint64_t proxy::requests(opcode operation) const {
  return impl_->core.seen.look([&](const observations& seen) {
    const auto found = seen.requests.find(operation);
    return found == seen.requests.end() ? 0 : found->second;
  });
}

std::uint64_t proxy::total_requests() const {
  std::uint64_t total = 0;
  for (const auto& [name, count] : requests()) total += count;
  return total;
}

void proxy::reset_requests() {
  impl_->core.seen.update([](observations& seen) { seen.requests.clear(); });
}

bool proxy::wait_for_request(opcode operation, std::uint64_t count, milliseconds timeout) const {
  return impl_->core.seen.wait(timeout, [&](const observations& seen) {
    const auto found = seen.requests.find(operation);
    return (found == seen.requests.end() ? 0 : found->second) >= count;
  });
}

bool proxy::wait_for_faults(milliseconds timeout) const {
  return impl_->core.seen.wait(timeout, [](const observations& seen) { return seen.faults_left == 0; });
}

bool proxy::wait_for_connected(bool connected, milliseconds timeout) const {
  return impl_->core.seen.wait(timeout, [&](const observations& seen) { return seen.attached.empty() != connected; });
}

std::optional<session_credentials> proxy::last_session() const {
  return impl_->core.seen.look([](const observations& seen) { return seen.last_session; });
}

std::optional<std::size_t> proxy::connected_server() const {
  return impl_->core.seen.look([](const observations& seen) -> std::optional<std::size_t> {
    for (const auto& [connection, where] : seen.attached) {
      if (seen.last_session && where.session == seen.last_session->id) return where.server;
    }
    return std::nullopt;
  });
}

}  // namespace latchkey::testing
