// SPDX-License-Identifier: Apache-2.0
#include "simulation/fake_network.hpp"

#include <fmt/format.h>

#include "session/peer_message.hpp"

namespace latchkey::testing {

class fake_network::port final : public detail::datagram_port {
 public:
  port(fake_network& net, std::string name, process_id process, std::function<void(const std::function<void()>&)> held)
      : net_{net}, name_{std::move(name)}, process_{process}, held_{std::move(held)} {
    net_.ports_[name_] = this;
  }
  ~port() override { net_.ports_.erase(name_); }

  std::string address(const std::string&) const override { return name_; }
  void send(const std::string& to, std::string_view bytes) noexcept override {
    net_.send({name_, to, std::string{bytes}}, net_.time_.resumes_at(process_));
  }
  void listen(receiver on_received) override { on_received_ = std::move(on_received); }

  process_id process() const noexcept { return process_; }
  void receive(const datagram& what) {
    held_([&] {
      if (on_received_) on_received_(what.from, what.bytes);
    });
  }

 private:
  fake_network& net_;
  const std::string name_;
  const process_id process_;
  const std::function<void(const std::function<void()>&)> held_;
  receiver on_received_;
};

std::unique_ptr<detail::datagram_port> fake_network::open(process_id process,
                                                          std::function<void(const std::function<void()>&)> held) {
  return std::make_unique<port>(*this, fmt::format("peer:{}", ++opened_), process, std::move(held));
}

void fake_network::send(datagram what, time_point when) {
  const auto said = detail::decode(what.bytes);
  if (said && said->what == detail::peer_message::verb::released) released_.emplace(said->ahead);
  auto& random = time_.random();
  if (!sent_.empty() && random.chance(plan_.replayed)) deliver_later(sent_[random.below(sent_.size())], when);
  if (random.chance(plan_.twice)) deliver_later(what, when);
  if (!random.chance(plan_.lost)) deliver_later(what, when);
  sent_.push_back(std::move(what));
}

void fake_network::deliver_later(const datagram& what, time_point sent) {
  time_.at(sent + plan_.delay.draw(time_.random()), [this, what] { deliver(what); });
}

void fake_network::deliver(const datagram& what) {
  const auto at = ports_.find(what.to);
  if (at == ports_.end()) return;
  const auto when = time_.resumes_at(at->second->process());
  if (when > time_.now()) return time_.at(when, [this, what] { deliver(what); });
  ++delivered_;
  at->second->receive(what);
}

}  // namespace latchkey::testing
