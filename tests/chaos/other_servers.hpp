// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Servers of a service that is not ZooKeeper.

#include <cstddef>
#include <deque>
#include <filesystem>
#include <string>
#include <vector>

#include <latchkey/testing/child_process.hpp>

#include "lock_servers.hpp"

namespace chaos {

/// What the service is, a program knows: see others/worker.py.
///
///     PROGRAM serve NUMBER FOLDER PORT...     becomes this server; of the first half of these ports it serves at its own,
///                                             and has one of the second half for the other servers
///     PROGRAM healthy PORT                    whether it can do what needs the service
///     PROGRAM leads PORT
class other_servers final : public lock_servers {
 public:
  /// Blocks until all serve.
  other_servers(std::vector<std::string> program, std::size_t count, const std::filesystem::path& folder);

  std::vector<latchkey::testing::endpoint> addresses() const override;
  std::optional<std::size_t> leader() const override;
  bool alive(std::size_t server) const override { return processes_.at(server).alive(); }
  void kill(std::size_t server) override { processes_.at(server).kill(); }
  void start(std::size_t server) override;
  void pause(std::size_t server) override { processes_.at(server).pause(); }
  void resume(std::size_t server) override { processes_.at(server).resume(); }
  void wait_until_serving(std::size_t server, std::chrono::milliseconds timeout) override;
  void wait_for_quorum(std::chrono::milliseconds timeout) override;

 private:
  bool ask(const char* what, std::size_t server) const;

  const std::vector<std::string> program_;
  const std::filesystem::path folder_;
  const std::vector<std::uint16_t> ports_;  // where all serve, and behind these as many of theirs
  std::deque<latchkey::testing::child_process> processes_;
};

}  // namespace chaos
