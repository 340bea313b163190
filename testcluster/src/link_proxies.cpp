// SPDX-License-Identifier: Apache-2.0
#include "link_proxies.hpp"

#include <algorithm>
#include <array>
#include <boost/asio/buffer.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/write.hpp>
#include <chrono>
#include <list>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "close_on_exec.hpp"
#include "event_loop.hpp"
#include "jute.hpp"
#include "listener.hpp"

namespace latchkey::testing::detail {

namespace asio = boost::asio;
using asio::ip::tcp;
using boost::system::error_code;

namespace {

/// An election connection begins with its initiator's own election address: version (8 bytes), server id (8), text.
/// A peer of a higher id hangs up and calls back there, past the proxy; so we put the proxy of the way back.
/// @returns nothing while the message is not complete
std::optional<std::string> with_address(const std::string& opening, const std::string& address) {
  constexpr std::size_t fixed = 16;
  constexpr std::size_t prefix = sizeof(std::int32_t);
  if (opening.size() < fixed + prefix) return std::nullopt;
  const auto length = load_big_endian<std::int32_t>(std::string_view{opening}.substr(fixed));
  if (length < 0 || length > 1'024) return opening;  // not what we know: leave it alone
  const auto end = fixed + prefix + static_cast<std::size_t>(length);
  if (opening.size() < end) return std::nullopt;
  return opening.substr(0, fixed) + jute_writer{}.number(static_cast<std::int32_t>(address.size())).frame().substr(4) +
         address + opening.substr(end);
}

using clock = std::chrono::steady_clock;

/// What does not pass: bytes of the initiator of a connection (forth), bytes for it (back).
struct held_bytes {
  bool forth = false;
  bool back = false;
};

/// One connection; passes bytes on as they come, unless they are held.
class wire : public std::enable_shared_from_this<wire> {
 public:
  wire(asio::io_context& io, tcp::socket from, tcp::endpoint target, std::string return_address)
      : initiator_(std::move(from)),
        acceptor_(io),
        target_(std::move(target)),
        return_address_(std::move(return_address)),
        tries_left_(return_address_.empty() ? 150 : 0),
        timer_(io) {}

  void hold(held_bytes which) {
    forth_.held = which.forth;
    back_.held = which.back;
    if (which.forth && which.back) return;
    if (!connecting_) connect();
    for (auto* each : {&forth_, &back_}) {
      if (!each->held && std::exchange(each->parked, false)) pass(*each);
    }
  }

  void close() noexcept {
    error_code ignored;
    initiator_.close(ignored);
    acceptor_.close(ignored);
    timer_.cancel();
  }
  [[nodiscard]] bool closed() const noexcept { return !initiator_.is_open(); }
  [[nodiscard]] clock::time_point last_passed(bool forth) const { return (forth ? forth_ : back_).last_passed; }

 private:
  struct half {
    tcp::socket& in;
    tcp::socket& out;
    std::array<char, 16'384> buffer{};
    std::string chunk{};
    clock::time_point last_passed{};
    bool held = false;
    bool parked = false;  // the chunk waits for the release, and what follows it in the socket
  };

  /// A follower that is refused tries again for a while: its leader may not listen yet. Since we have accepted, it
  /// believes to be connected, and would go back to an election for initLimit ticks; so the trying again is ours.
  void connect() {
    connecting_ = true;
    acceptor_.async_connect(target_, [self = shared_from_this()](const error_code& error) {
      if (self->closed()) return self->close();
      if (error && self->tries_left_-- > 0) return self->connect_later();
      if (error) return self->close();
      close_on_exec(self->acceptor_);
      error_code ignored;
      self->acceptor_.set_option(tcp::no_delay{true}, ignored);
      self->read(self->forth_);
      self->read(self->back_);
    });
  }

  void connect_later() {
    error_code ignored;
    acceptor_.close(ignored);
    timer_.expires_after(std::chrono::milliseconds{10});
    timer_.async_wait([self = shared_from_this()](const error_code& error) {
      if (!error && !self->closed()) self->connect();
    });
  }

  void read(half& way) {
    way.in.async_read_some(asio::buffer(way.buffer),
                           [self = shared_from_this(), &way](error_code error, std::size_t n) {
                             if (error) return self->close();
                             way.chunk.append(way.buffer.data(), n);
                             self->pass(way);
                           });
  }

  void pass(half& way) {
    way.parked = way.held;
    if (way.held) return;
    if (&way == &forth_ && !return_address_.empty()) {
      auto rewritten = with_address(way.chunk, return_address_);
      if (!rewritten) return read(way);
      way.chunk = std::move(*rewritten);
      return_address_.clear();
    }
    asio::async_write(way.out, asio::buffer(way.chunk),
                      [self = shared_from_this(), &way](error_code error, std::size_t) {
                        if (error) return self->close();
                        way.chunk.clear();
                        way.last_passed = clock::now();
                        self->read(way);
                      });
  }

  tcp::socket initiator_;
  tcp::socket acceptor_;
  tcp::endpoint target_;
  std::string return_address_;  // empty: pass everything as it is
  half forth_{initiator_, acceptor_};
  half back_{acceptor_, initiator_};
  bool connecting_ = false;
  int tries_left_;
  asio::steady_timer timer_;
};

/// The way from one server to one port of another.
class link {
 public:
  link(asio::io_context& io, std::uint16_t target)
      : io_(io),
        target_(asio::ip::address_v4::loopback(), target),
        door_(io, [this](tcp::socket socket) { accept(std::move(socket)); }) {}

  void set(std::optional<link_fault> fault, held_bytes held) {
    held_ = fault ? held_bytes{true, true} : held;
    std::erase_if(wires_, [](const auto& each) { return each->closed(); });
    if (fault == link_fault::cut) {
      door_.shut();
      for (auto& each : wires_) each->close();
      wires_.clear();
      return;
    }
    door_.open();
    for (auto& each : wires_) each->hold(held_);
  }

  [[nodiscard]] clock::time_point last_passed(bool forth) const {
    clock::time_point last{};
    for (const auto& each : wires_) last = std::max(last, each->last_passed(forth));
    return last;
  }
  [[nodiscard]] std::uint16_t port() const noexcept { return door_.port(); }
  /// Who calls through this link is told to be called back there.
  void return_to(std::string address) { return_address_ = std::move(address); }

 private:
  void accept(tcp::socket socket) {
    std::erase_if(wires_, [](const auto& each) { return each->closed(); });
    wires_.push_back(std::make_shared<wire>(io_, std::move(socket), target_, return_address_));
    wires_.back()->hold(held_);
  }

  asio::io_context& io_;
  tcp::endpoint target_;
  std::string return_address_;
  held_bytes held_;
  std::list<std::shared_ptr<wire>> wires_;
  listener door_;
};

}  // namespace

struct link_proxies::impl {
  struct pair_of_links {
    pair_of_links(asio::io_context& io, const peer_address& target)
        : quorum(io, target.quorum), election(io, target.election) {}
    link quorum;
    link election;
  };

  struct faults_of_server {
    std::optional<link_fault> fault;
    bool incoming = false;  // held back
    bool outgoing = false;
  };

  /// A link is as bad as the worse of its two ends.
  void apply() {
    for (auto& [ends, both] : links) {
      const auto& from = faults[ends.first];
      const auto& to = faults[ends.second];
      const auto fault = from.fault == link_fault::cut ? from.fault : to.fault ? to.fault : from.fault;
      both.quorum.set(fault, {from.outgoing || to.incoming, from.incoming || to.outgoing});
      both.election.set(fault, {});
    }
  }

  template <class Change>
  void change(std::size_t server, Change how) {
    loop.run([&] {
      how(faults.at(server));
      apply();
    });
  }

  event_loop loop;  // first, so that it outlives the sockets
  std::vector<peer_address> servers;
  std::vector<faults_of_server> faults;
  std::map<std::pair<std::size_t, std::size_t>, pair_of_links> links;
};

link_proxies::link_proxies(const std::vector<peer_address>& servers) : impl_(std::make_unique<impl>()) {
  impl_->servers = servers;
  impl_->faults.resize(servers.size());
  impl_->loop.run([&] {
    auto& io = impl_->loop.io();
    for (std::size_t from = 0; from < servers.size(); ++from) {
      for (std::size_t to = 0; to < servers.size(); ++to) {
        if (from == to) continue;
        impl_->links.try_emplace({from, to}, io, servers[to]);
      }
    }
    for (auto& [ends, both] : impl_->links) {
      const auto& way_back = impl_->links.at({ends.second, ends.first});
      both.election.return_to("127.0.0.1:" + std::to_string(way_back.election.port()));
    }
    impl_->apply();
  });
}

link_proxies::~link_proxies() { impl_->loop.stop(); }

std::vector<peer_address> link_proxies::view_of(std::size_t from) const {
  auto view = impl_->servers;
  for (std::size_t to = 0; to < view.size(); ++to) {
    if (to == from) continue;
    const auto& both = impl_->links.at({from, to});
    view[to] = {both.quorum.port(), both.election.port()};
  }
  return view;
}

void link_proxies::isolate(std::size_t server, link_fault how) {
  impl_->change(server, [how](auto& faults) { faults.fault = how; });
}

void link_proxies::hold_back(std::size_t server, direction which, bool held) {
  impl_->change(server,
                [=](auto& faults) { (which == direction::incoming ? faults.incoming : faults.outgoing) = held; });
}

std::chrono::steady_clock::time_point link_proxies::last_passed(std::size_t server, direction which) const {
  return impl_->loop.run([&] {
    clock::time_point last{};
    for (const auto& [ends, both] : impl_->links) {
      if (ends.first == server) last = std::max(last, both.quorum.last_passed(which == direction::outgoing));
      if (ends.second == server) last = std::max(last, both.quorum.last_passed(which == direction::incoming));
    }
    return last;
  });
}

void link_proxies::heal(std::size_t server) {
  impl_->change(server, [](auto& faults) { faults = {}; });
}

}  // namespace latchkey::testing::detail
