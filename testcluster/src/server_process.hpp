// SPDX-License-Identifier: Apache-2.0
#pragma once
// One ZooKeeper server: its ports, its configuration, its process.

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "latchkey/testing/child_process.hpp"
#include "latchkey/testing/ensemble.hpp"
#include "reserved_port.hpp"
#include "stopped_threads.hpp"

namespace latchkey::testing::detail {

/// Where one server believes another to be.
struct peer_address {
  std::uint16_t quorum = 0;
  std::uint16_t election = 0;
};

class server_process {
 public:
  server_process(std::size_t index, std::filesystem::path folder);

  /// Writes zoo.cfg and myid. @param peers  the view that this server has of all, itself included
  void configure(const ensemble_options& how, const std::vector<peer_address>& peers,
                 const std::vector<std::string>& own_lines) const;
  /// @pre configured; not alive. @throws missing_package, cluster_error
  void launch(const ensemble_options& how);

  /// All its threads go on.
  void resume_threads();
  /// Whether what it writes to files fails from now on. Nothing if it does not run.
  void limit_files(bool limited) const;

  /// Where it serves clients from the next `configure` and start on.
  void move(std::string host) { host_ = std::move(host); }
  [[nodiscard]] endpoint address() const { return {host_, client_.number()}; }
  [[nodiscard]] peer_address ports() const { return {quorum_.number(), election_.number()}; }
  [[nodiscard]] std::filesystem::path log() const { return folder_ / "log"; }
  /// The last lines of the log, for messages.
  [[nodiscard]] std::string log_tail() const;
  [[nodiscard]] bool lost_its_port() const;

  child_process process;
  /// Threads of the server, while they are stopped.
  std::optional<stopped_threads> pings;
  std::optional<stopped_threads> log_writers;  ///< a server that was elected again has some that are of no use
  std::string class_path;                      ///< from the next launch on; empty: as LATCHKEY_ZOOKEEPER_CLASSPATH says

 private:
  std::size_t index_;
  std::filesystem::path folder_;
  std::string host_ = "127.0.0.1";
  reserved_port client_;
  reserved_port quorum_;
  reserved_port election_;
};

}  // namespace latchkey::testing::detail
