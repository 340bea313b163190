// SPDX-License-Identifier: Apache-2.0
#include "delayed_pipe.hpp"

#include <algorithm>
#include <boost/asio/buffer.hpp>
#include <boost/asio/write.hpp>

namespace latchkey::testing::detail {

using boost::system::error_code;

void delayed_pipe::push(std::string bytes, std::chrono::milliseconds delay, bool held,
                        const std::shared_ptr<void>& owner) {
  last_due_ = std::max(last_due_, clock::now() + delay);
  pieces_.push_back({std::move(bytes), last_due_, held});
  advance(owner);
}

void delayed_pipe::release_held(const std::shared_ptr<void>& owner) {
  for (auto& each : pieces_) each.held = false;
  advance(owner);
}

void delayed_pipe::block(bool blocked, const std::shared_ptr<void>& owner) {
  blocked_ = blocked;
  advance(owner);
}

void delayed_pipe::advance(const std::shared_ptr<void>& owner) {
  if (busy_ || blocked_ || pieces_.empty() || pieces_.front().held) return;
  busy_ = true;
  if (pieces_.front().due <= clock::now()) return write(owner);
  timer_.expires_at(pieces_.front().due);
  timer_.async_wait([this, owner](const error_code& error) {
    busy_ = false;
    if (!error) advance(owner);
  });
}

void delayed_pipe::write(const std::shared_ptr<void>& owner) {
  if (pieces_.front().bytes.empty()) return finish_();
  boost::asio::async_write(to_, boost::asio::buffer(pieces_.front().bytes),
                           [this, owner](const error_code& error, std::size_t) {
                             if (error) return finish_();
                             busy_ = false;
                             pieces_.pop_front();
                             advance(owner);
                           });
}

}  // namespace latchkey::testing::detail
