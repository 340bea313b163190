// SPDX-License-Identifier: Apache-2.0
#pragma once

/// The connector of production: sessions of the C client.

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/secrets.hpp"
#include "bridge/helper_threads.hpp"
#include "bridge/znodes.hpp"

namespace latchkey::detail {

struct handle_options;
class known_hosts;

/// Opens and closes sessions of the C client, each on a thread that lives as long as that takes.
/// `open` and `retire` may be called from any thread, with locks held, and from inside every callback.
class zookeeper_connector final : public connector {
 public:
  /// @throws error bad_option (the ACL, the certificates), unsupported (TLS)
  explicit zookeeper_connector(connector_options options);

  /// @note waits for no name server: an `open` that still asks one is dropped, its `on_opened` does not come.
  ~zookeeper_connector() override;

  /// @throws std::system_error when the system has no thread for it
  void open(std::uint64_t epoch, connector_listener& listener, const std::vector<std::string>& without = {}) override;

  /// @throws std::system_error when the system has no thread for it
  void look_for_moved_hosts() override;

  /// Asks for the first time. `answer` runs on a thread of the connector, when a host resolves or none does; without a
  /// `failure` one does. If the connector goes first, it does not run.
  /// @throws std::system_error when the system has no thread for it
  void ask_name_servers(std::function<void(std::string failure)> answer);

  void retire(std::unique_ptr<znodes> session, std::function<void()> on_closed) override;

  void forget_credentials() noexcept override { secrets_->forget(); }

 private:
  void look_up_next();

  std::shared_ptr<known_hosts> hosts_;
  std::shared_ptr<secrets> secrets_;
  std::shared_ptr<const handle_options> options_;
  std::atomic<connector_listener*> session_{nullptr};  // that was opened last, but for second ones
  helper_threads helpers_;
};

}  // namespace latchkey::detail
