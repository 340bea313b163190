// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Those of latchkey, Curator and kazoo.

#include <utility>

#include "../announced_ensemble.hpp"
#include "lock_servers.hpp"

namespace chaos {

class zookeeper_servers final : public lock_servers {
 public:
  explicit zookeeper_servers(latchkey::testing::ensemble_options how) : all_{std::move(how)} {}

  std::vector<latchkey::testing::endpoint> addresses() const override { return all_.addresses(); }
  std::optional<std::size_t> leader() const override { return all_.leader(); }
  bool alive(std::size_t server) const override { return all_.pid(server) != 0; }
  void kill(std::size_t server) override { all_.kill(server); }
  void start(std::size_t server) override { all_.start(server); }
  void pause(std::size_t server) override { all_.pause(server); }
  void resume(std::size_t server) override { all_.resume(server); }
  void wait_until_serving(std::size_t server, std::chrono::milliseconds timeout) override {
    all_.wait_until_serving(server, timeout);
  }
  void wait_for_quorum(std::chrono::milliseconds timeout) override { all_.wait_for_quorum(timeout); }
  latchkey::testing::ensemble* zookeeper() noexcept override { return &all_; }

 private:
  latchkey::testing::announced_ensemble all_;
};

}  // namespace chaos
