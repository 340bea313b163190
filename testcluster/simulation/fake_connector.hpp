// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Opens sessions on a fake ensemble: what a client of the system under test is given in place of the C client.

#include <chrono>
#include <functional>
#include <memory>

#include "bridge/znodes.hpp"
#include "simulation/fake_ensemble.hpp"

namespace latchkey::testing {

/// Its listeners are called from steps of the simulation only; after its destruction never.
class fake_connector final : public detail::connector {
 public:
  /// @param process whose pauses hold up what is delivered.
  fake_connector(fake_ensemble& ensemble, std::chrono::milliseconds timeout, process_id process = process_id::none);
  ~fake_connector() override;

  void open(std::uint64_t epoch, detail::connector_listener& listener,
            const std::vector<std::string>& without = {}) override;
  void resume(const detail::former_session& session, detail::connector_listener& listener) override;
  void retire(std::unique_ptr<detail::znodes> session, std::function<void()> on_closed) override;

  /// The next request of this kind meets this fault.
  void set_trap(request_kind kind, trap what) { client_->traps.emplace_back(kind, what); }

  /// Nothing passes until `heal()`, in sessions to come either. Then what has waited arrives, in order.
  void cut();
  void heal();
  /// Nothing passes any more, whatever heals: the process of the client has died.
  void abandon();

  /// What has been opened last, but for second sessions (epoch 0); nothing before.
  fake_session* latest() const noexcept { return latest_; }
  /// @returns how many requests of this kind have been sent.
  std::uint64_t sent(request_kind kind) const noexcept { return client_->sent[kind.index()]; }
  /// @returns how many have been sent in all, but for syncs: those keep the lease ready.
  std::uint64_t sent() const noexcept;
  void forget_sent() noexcept { client_->sent = {}; }
  /// Sessions that were opened and are not closed yet.
  std::size_t open_sessions() const noexcept;
  const std::shared_ptr<fake_client>& client() const noexcept { return client_; }

 private:
  struct opening {
    std::uint64_t epoch;
    detail::connector_listener& listener;
    detail::former_session former{};  // id 0: a new session
  };
  void look_up(const opening& what);
  void on_looked_up(const opening& what);
  void begin(const opening& what);
  void on_opened(fake_session& opened, const opening& what);

  fake_ensemble& ensemble_;
  const std::shared_ptr<fake_client> client_;
  const std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
  std::vector<fake_session*> sessions_;
  fake_session* latest_ = nullptr;
  bool is_abandoned_ = false;
};

}  // namespace latchkey::testing
