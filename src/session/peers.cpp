// SPDX-License-Identifier: Apache-2.0
#include "session/peers.hpp"

#include <cstdint>
#include <cstring>
#include <utility>

#include "base/log.hpp"
#include "base/unique_id.hpp"

namespace latchkey::detail {

peers::peers(monitor& own, std::unique_ptr<datagram_port> port) : link_{own, std::move(port)}, departures_{own} {
  link_.port->listen([this](const std::string& from, std::string_view bytes) { on_received(from, bytes); });
}

peers::~peers() { link_.port->listen({}); }

void peers::on_connected(const std::string& server) {
  const bool first = address_.empty();
  address_ = link_.port->address(server);
  if (!address_.empty() || !first || std::exchange(said_, true)) return;
  log(log_level::warning,
      "this client has no address that others can reach, so the ensemble hands off its locks; set "
      "peer_options::listen to the ensemble's family (IPv4 or IPv6), or set peer_options::advertise",
      {{"server", server}});
}

std::string peers::unique_id(std::string_view path) const {
  std::uint64_t high = 0;
  std::memcpy(&high, link_.hash(path).data(), sizeof high);
  return detail::unique_id(high);
}

std::optional<peer_advert> peers::advert(std::string_view name) const {
  if (address_.empty()) return std::nullopt;
  return peer_advert{address_, link_.key_of(name)};
}

void peers::remove(const std::string& name) {
  waiting_.remove(name);
  awaited_.unsubscribe(name);
}

void peers::on_received(const std::string& from, std::string_view bytes) {
  using verb = peer_message::verb;
  const auto what = decode(bytes);
  if (!what) return void(++link_.counts.malformed);
  if (what->what == verb::subscribe || what->what == verb::ask) return waiting_.on_subscribe(from, *what, bytes);
  awaited_.on_answer(*what, bytes);
}

}  // namespace latchkey::detail
