// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Two clients that exchange datagrams when a test delivers them.

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "session/peers.hpp"

namespace latchkey::detail::peer_tests {

using namespace std::chrono_literals;
using verb = peer_message::verb;

struct datagram {
  std::string to;
  std::string bytes;
  verb what() const { return decode(bytes)->what; }
};

/// What is sent stays here.
class recording_port final : public datagram_port {
 public:
  explicit recording_port(std::string address) : address_{std::move(address)} {}
  std::string address(const std::string&) const override { return address_; }
  void send(const std::string& to, std::string_view bytes) noexcept override {
    sent.push_back({to, std::string{bytes}});
  }
  void listen(receiver on_received) override { receive = std::move(on_received); }

  std::vector<datagram> sent;
  receiver receive;

 private:
  const std::string address_;
};

struct client {
  explicit client(std::string address, time_point& now) : own{[&now] { return now; }} {
    auto made = std::make_unique<recording_port>(std::move(address));
    port = made.get();
    all.emplace(own, std::move(made));
    all->on_connected("server");
  }
  monitor own;
  recording_port* port = nullptr;
  std::optional<peers> all;
};

struct listener final : peer_listener {
  void on_released(const std::string& ahead) override { told.push_back(ahead); }
  void on_next() override { ++next; }
  void on_no_release() override { ++unreleased; }
  std::vector<std::string> told;
  int next = 0;
  int unreleased = 0;
};

inline std::string entry(int number) {
  const auto digits = std::to_string(number);
  return "_c_01234567-89ab-4def-8000-000000000000-lock-" + std::string(10 - digits.size(), '0') + digits;
}
inline constexpr auto prefix = "_c_01234567-89ab-4def-8000-000000000000-lock-";

struct two_clients {
  time_point now{1h};
  client holder{"holder", now};
  client waiter{"waiter", now};
  listener who;
  const std::string first = entry(1);
  const std::string second = entry(2);

  two_clients() { holder.all->waiting().add(first); }
  bool subscribe(int number = 2) { return subscribe(who, number, first); }
  bool subscribe(listener& by, int number, const std::string& ahead) {
    waiter.all->awaited().unsubscribe(entry(number));
    waiter.all->awaited().learn("/q", ahead, *holder.all->advert(prefix));
    return waiter.all->awaited().subscribe(by, "/q", entry(number), ahead);
  }
  /// In time, so the next release of the holder is expected.
  void be_told() {
    subscribe();
    deliver();
    holder.all->waiting().tell(first);
    deliver();
  }
  void advance(duration time) {
    const auto end = now + time;
    while (const auto next = waiter.own.next_timer()) {
      if (*next > end) break;
      now = *next;
      waiter.own.run_due();
    }
    now = end;
  }
  /// The time until an answer is asked for.
  void ask() {
    deliver();
    advance(10ms);
    deliver();
  }
  /// Delivers what has been sent, once.
  void deliver() {
    for (const auto& each : std::exchange(waiter.port->sent, {})) holder.port->receive("waiter", each.bytes);
    for (const auto& each : std::exchange(holder.port->sent, {})) {
      if (each.to == "waiter") waiter.port->receive("holder", each.bytes);
    }
  }
};

}  // namespace latchkey::detail::peer_tests
