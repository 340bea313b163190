// SPDX-License-Identifier: Apache-2.0
#include "session/second_handle.hpp"

namespace latchkey::detail {
namespace {

/// After an attempt that has found no thread or no name.
constexpr duration pause_of_openings = std::chrono::seconds{1};

}  // namespace

second_opinion second_handle::look(std::uint64_t refusals, duration pause, const std::vector<std::string>& without) {
  using enum second_opinion;
  const auto now = own_monitor().now();
  if (!handle()) {
    if (is_closed() && now >= not_before_) begin(without);
    return none;
  }
  if (answer_ == reply_code::authentication_demanded) return authentication_demanded;
  if (handle()->turned_away() != 0) {
    let_in_ = 0;
    not_before_ = now + pause;
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

void second_handle::begin(const std::vector<std::string>& without) {
  asked_ = false;
  answer_ = reply_code::not_sent;
  refusals_.reset();
  not_before_ = own_monitor().now() + pause_of_openings;
  open(without);
}

void second_handle::give_up() {
  let_in_ = 0;
  close();
}

void second_handle::on_up() {
  not_before_ = {};
  asked_ = asked_ || handle()->send(1, {.kind = operation::sync, .path = "/"});
}

void second_handle::on_down() {
  asked_ = false;
  let_in_ = 0;
  refusals_.reset();
  if (answer_ == reply_code::ok) answer_ = reply_code::not_sent;
}

void second_handle::on_answered(std::uint64_t, const reply& answer) {
  if (!is_lost(answer.code)) answer_ = answer.code;
}

}  // namespace latchkey::detail
