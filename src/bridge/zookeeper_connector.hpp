// SPDX-License-Identifier: Apache-2.0
#pragma once

/// The connector of production: sessions of the C client.

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <latchkey/client_options.hpp>

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
  void resume(const former_session& session, connector_listener& listener) override;

  /// @throws std::system_error when the system has no thread for it
  void look_for_moved_hosts() override;

  /// Asks for the first time. `answer` runs on a thread of the connector, when a host resolves or none does; without a
  /// `failure` one does. If the connector goes first, it does not run.
  /// @throws std::system_error when the system has no thread for it
  void ask_name_servers(std::function<void(std::string failure)> answer);

  void retire(std::unique_ptr<znodes> session, std::function<void()> on_closed) override;

  void forget_credentials() noexcept override { secrets_->forget(); }

 private:
  void open(std::uint64_t epoch, connector_listener& listener, const std::vector<std::string>& without,
            const former_session& former);
  void look_up_next();

  std::shared_ptr<known_hosts> hosts_;
  std::shared_ptr<secrets> secrets_;
  std::shared_ptr<const handle_options> options_;
  std::atomic<connector_listener*> session_{nullptr};  // that was opened last, but for second ones
  helper_threads helpers_;
};

/// @param hosts as in a connect string
/// @param options `session_timeout`, `authentication` and `tls`; its nodes are for nobody in particular
/// @throws error as the constructor; bad_connect_string
std::unique_ptr<connector> make_connector(std::string_view hosts, const client_options& options);

}  // namespace latchkey::detail
