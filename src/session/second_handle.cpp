// SPDX-License-Identifier: Apache-2.0
#include "session/second_handle.hpp"

#include <system_error>
#include <utility>

namespace latchkey::detail {

bool second_handle::look(std::uint64_t turned_away, duration pause, const std::vector<std::string>& without) {
  if (opening_ || closing_) return false;
  if (!handle_) {
    if (monitor_.now() >= not_before_) open(without);
    return false;
  }
  if (handle_->turned_away() != 0) {
    let_in_ = 0;
    not_before_ = monitor_.now() + pause;
    close();
    return false;
  }
  if (!connected_) return false;
  if (!turned_away_) turned_away_ = turned_away;
  if (turned_away < *turned_away_ + meanwhile) return false;
  if (++let_in_ == times) return true;
  close();
  return false;
}

void second_handle::open(const std::vector<std::string>& without) {
  opening_ = true;
  unwanted_ = connected_ = false;
  turned_away_.reset();
  try {
    connector_.open(epoch, *this, without);
  } catch (const std::system_error&) {  // no thread: at the next look
    opening_ = false;
  }
}

void second_handle::give_up() {
  let_in_ = 0;
  unwanted_ = opening_;
  if (handle_) close();
}

void second_handle::close() {
  closing_ = true;
  connected_ = false;
  connector_.retire(std::move(handle_), [this] { monitor_.run([this] { closing_ = false; }); });
}

void second_handle::on_opened(std::uint64_t, std::unique_ptr<znodes> opened, std::string) {
  monitor_.run([&] {
    opening_ = false;
    handle_ = std::move(opened);
    if (!handle_) not_before_ = monitor_.now() + std::chrono::seconds{1};
    if (handle_ && unwanted_) close();
  });
}

/// It may be connected before it has been opened.
void second_handle::on_connection(std::uint64_t, connection_state state, session_info) {
  monitor_.run([&] {
    connected_ = state == connection_state::connected && !closing_;
    if (!connected_) let_in_ = 0;
  });
}

}  // namespace latchkey::detail
