// SPDX-License-Identifier: Apache-2.0
#include "session/second_handle.hpp"

#include <system_error>
#include <utility>

namespace latchkey::detail {

second_opinion second_handle::look(std::uint64_t refusals, duration pause, const std::vector<std::string>& without) {
  using enum second_opinion;
  if (opening_ || closing_) return none;
  if (!handle_) {
    if (monitor_.now() >= not_before_) open(without);
    return none;
  }
  if (answer_ == reply_code::authentication_demanded) return authentication_demanded;
  if (handle_->turned_away() != 0) {
    let_in_ = 0;
    not_before_ = monitor_.now() + pause;
    close();
    return none;
  }
  if (answer_ != reply_code::ok) return none;
  if (!refusals_) refusals_ = refusals;
  if (refusals < *refusals_ + meanwhile) return none;
  if (++let_in_ == times) return session_is_refused;
  close();
  return none;
}

void second_handle::open(const std::vector<std::string>& without) {
  opening_ = true;
  unwanted_ = connected_ = asked_ = false;
  answer_ = reply_code::not_sent;
  refusals_.reset();
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
    if (handle_ && unwanted_) return close();
    ask();
  });
}

/// It may be connected before it has been opened.
void second_handle::on_connection(std::uint64_t, connection_state state, session_info) {
  monitor_.run([&] {
    connected_ = state == connection_state::connected && !closing_;
    if (!connected_) {
      let_in_ = 0;
      refusals_.reset();
      if (answer_ == reply_code::ok) answer_ = reply_code::not_sent;
    }
    ask();
  });
}

void second_handle::ask() {
  asked_ = handle_ && connected_ && (asked_ || handle_->send(1, {.kind = operation::sync, .path = "/"}));
}

void second_handle::on_reply(std::uint64_t, std::uint64_t, reply answer) {
  monitor_.run([&] {
    if (!is_lost(answer.code)) answer_ = answer.code;
  });
}

}  // namespace latchkey::detail
