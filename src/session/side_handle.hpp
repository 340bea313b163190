// SPDX-License-Identifier: Apache-2.0
#pragma once

/// A handle beside that of the session.

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "bridge/monitor.hpp"
#include "bridge/znodes.hpp"

namespace latchkey::detail {

/// Opens a session of its own, which has seen nothing, watches nothing and makes nothing, to ask the servers something; or
/// one that another process has left. One at a time. With the monitor held, except for the entry points of the listener, which take it.
class side_handle : connector_listener {
 public:
  static constexpr std::uint64_t epoch = 0;  ///< of no session: the connector is to forget nothing for it

  side_handle(monitor& own, connector& opener) : monitor_{own}, connector_{opener} {}

 protected:
  ~side_handle() = default;

  /// @pre is_closed()
  void open(const std::vector<std::string>& without);
  /// As `open`, the session of another process. @pre is_closed()
  void resume(const former_session& session);
  void close();
  bool is_closed() const noexcept { return !opening_ && !closing_ && !handle_; }
  /// @returns the handle, once it has been opened and until it is closed; otherwise nothing.
  znodes* handle() const noexcept { return handle_.get(); }
  monitor& own_monitor() const noexcept { return monitor_; }

  virtual void on_up() = 0;
  virtual void on_down() = 0;
  /// The ensemble has ended the session.
  virtual void on_expired() { on_down(); }
  virtual void on_answered(std::uint64_t id, const reply& answer) = 0;
  /// It could not be opened, or has been closed.
  virtual void on_closed() {}

 private:
  void on_opened(std::uint64_t epoch, std::unique_ptr<znodes> opened, std::string failure) final;
  void on_connection(std::uint64_t epoch, connection_state state, session_info info) final;
  void on_reply(std::uint64_t epoch, std::uint64_t id, reply answer) final;
  void on_watch(std::uint64_t, watch_event, std::string_view) final {}

  template <class Opening>
  void open_by(Opening call);

  monitor& monitor_;
  connector& connector_;
  std::unique_ptr<znodes> handle_;
  bool opening_ = false;
  bool closing_ = false;
  bool unwanted_ = false;
  bool connected_ = false;
};

}  // namespace latchkey::detail
