// SPDX-License-Identifier: Apache-2.0
#pragma once

/// The servers of a lock service, as far as all services are alike.

#include <chrono>
#include <cstddef>
#include <optional>
#include <vector>

#include <latchkey/testing/ensemble.hpp>

namespace chaos {

/// Numbered from 0. As `latchkey::testing::ensemble`, whose words these are. @throws cluster_error where that does
class lock_servers {
 public:
  lock_servers() = default;
  lock_servers(const lock_servers&) = delete;
  lock_servers& operator=(const lock_servers&) = delete;
  virtual ~lock_servers() = default;

  virtual std::vector<latchkey::testing::endpoint> addresses() const = 0;
  virtual std::optional<std::size_t> leader() const = 0;
  virtual bool alive(std::size_t server) const = 0;  ///< paused is alive
  virtual void kill(std::size_t server) = 0;
  virtual void start(std::size_t server) = 0;
  virtual void pause(std::size_t server) = 0;
  virtual void resume(std::size_t server) = 0;
  virtual void wait_until_serving(std::size_t server, std::chrono::milliseconds timeout) = 0;
  virtual void wait_for_quorum(std::chrono::milliseconds timeout) = 0;

  /// @returns what more there is to do; nothing if they are of another service.
  virtual latchkey::testing::ensemble* zookeeper() noexcept { return nullptr; }

  std::size_t size() const { return addresses().size(); }
};

}  // namespace chaos
