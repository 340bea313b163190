// SPDX-License-Identifier: Apache-2.0
#include "session/side_handle.hpp"

#include <system_error>
#include <utility>

namespace latchkey::detail {

void side_handle::open(const std::vector<std::string>& without) {
  open_by([&] { connector_.open(epoch, *this, without); });
}

void side_handle::resume(const former_session& session) {
  open_by([&] { connector_.resume(session, *this); });
}

template <class Opening>
void side_handle::open_by(Opening call) {
  opening_ = true;
  unwanted_ = connected_ = false;
  try {
    call();
  } catch (const std::system_error&) {  // no thread
    opening_ = false;
    on_closed();
  }
}

void side_handle::close() {
  unwanted_ = opening_;
  if (!handle_) return;
  closing_ = true;
  connected_ = false;
  connector_.retire(std::move(handle_), [this] {
    monitor_.run([this] {
      closing_ = false;
      on_closed();
    });
  });
}

void side_handle::on_opened(std::uint64_t, std::unique_ptr<znodes> opened, std::string) {
  monitor_.run([&] {
    opening_ = false;
    handle_ = std::move(opened);
    if (!handle_) return on_closed();
    if (unwanted_) return close();
    if (connected_) on_up();
  });
}

/// It may be connected before it has been opened.
void side_handle::on_connection(std::uint64_t, connection_state state, session_info info) {
  monitor_.run([&] {
    if (closing_) return;
    connected_ = state == connection_state::connected;
    if (connected_ && !info.is_plausible()) return close();  // it would look for no other server
    if (state == connection_state::expired) return on_expired();
    if (!connected_) on_down();
    if (connected_ && handle_) on_up();
  });
}

void side_handle::on_reply(std::uint64_t, std::uint64_t id, reply answer) {
  monitor_.run([&] {
    if (!closing_) on_answered(id, answer);
  });
}

}  // namespace latchkey::detail
