// SPDX-License-Identifier: Apache-2.0
#include "proxy_connection.hpp"

#include <algorithm>
#include <boost/asio/buffer.hpp>
#include <utility>

#include "close_on_exec.hpp"

namespace latchkey::testing::detail {

using boost::asio::ip::tcp;
using boost::system::error_code;

namespace {

constexpr std::int32_t authentication_xid = -4;

std::int32_t xid_of(const std::string& frame) {
  return load_big_endian<std::int32_t>(std::string_view{frame}.substr(frame_splitter::prefix));
}

opcode opcode_of(const std::string& frame) {
  return static_cast<opcode>(load_big_endian<std::int32_t>(std::string_view{frame}.substr(frame_splitter::prefix + 4)));
}

bool strikes_later(fate what) { return what == fate::drop_reply || what == fate::hold_reply; }

}  // namespace

proxy_connection::proxy_connection(boost::asio::io_context& io, proxy_core& core, tcp::socket client,
                                   std::size_t server, tcp::endpoint target)
    : core_(core),
      client_{std::move(client)},
      server_{tcp::socket{io}},
      server_index_(server),
      target_(std::move(target)),
      to_server_(io, server_.socket, [this] { close(); }),
      to_client_(io, client_.socket, [this] { close(); }) {}

void proxy_connection::connect() {
  connecting_ = true;
  server_.socket.async_connect(target_, [this, self = shared_from_this()](const error_code& error) {
    if (closed_) return;
    if (error) return close();
    close_on_exec(server_.socket);
    error_code ignored;
    server_.socket.set_option(tcp::no_delay{true}, ignored);
    read(client_);
    read(server_);
  });
}

void proxy_connection::block(bool to_server, bool to_client) {
  if (closed_) return;
  const auto self = shared_from_this();
  if (!(to_server && to_client) && !connecting_) connect();
  block(client_, to_server);
  block(server_, to_client);
}

void proxy_connection::block(side& from, bool blocked) {
  if (closed_ || std::exchange(from.blocked, blocked) == blocked) return;
  (&from == &client_ ? to_server_ : to_client_).block(blocked, shared_from_this());
  if (!blocked && std::exchange(from.parked, false)) go_on(from);
}

void proxy_connection::forget_fates() {
  for (auto& each : open_requests_) {
    if (strikes_later(std::exchange(each.what, fate::pass))) --core_.unstruck;
  }
}

void proxy_connection::close() {
  if (std::exchange(closed_, true)) return;
  forget_fates();
  error_code ignored;
  client_.socket.close(ignored);
  server_.socket.close(ignored);
  to_server_.cancel();
  to_client_.cancel();
  core_.seen.update([this](observations& seen) { seen.attached.erase(this); });
  core_.publish_faults();
}

void proxy_connection::read(side& from) {
  from.socket.async_read_some(boost::asio::buffer(from.buffer),
                              [this, &from, self = shared_from_this()](const error_code& error, std::size_t n) {
                                if (closed_) return;
                                from.frames.append({from.buffer.data(), n});
                                from.ended = error.failed();
                                go_on(from);
                              });
}

/// Deals with what has been read, and reads on; in a black hole later.
void proxy_connection::go_on(side& from) {
  process(from);
  from.parked = from.blocked;
  if (closed_ || from.blocked) return;
  if (!from.ended) return read(from);
  (&from == &client_ ? to_server_ : to_client_).push_end(core_.delay, shared_from_this());
}

void proxy_connection::process(side& from) {
  while (!closed_ && !from.blocked) {
    auto frame = from.frames.next();
    if (!frame) return;
    if (&from == &client_) {
      on_client_frame(std::move(*frame));
    } else {
      on_server_frame(std::move(*frame));
    }
  }
}

void proxy_connection::on_client_frame(std::string frame) {
  const auto self = shared_from_this();
  if (client_.frames.opaque()) server_.frames.give_up();
  const bool plain = client_.frames.opaque() || !std::exchange(client_.greeted, true) ||
                     frame.size() < frame_splitter::prefix + 2 * sizeof(std::int32_t);
  if (plain) return to_server_.push(std::move(frame), core_.delay, false, self);

  const auto xid = xid_of(frame);
  const auto operation = opcode_of(frame);
  const auto what = core_.armed.take(operation);
  // Before the server has it: who sees what the request did must find it counted.
  core_.seen.update([&](observations& seen) { ++seen.requests[operation]; });
  if (what == fate::drop) {
    close();
  } else {
    if (strikes_later(what)) ++core_.unstruck;
    if (xid != ping_xid && xid != authentication_xid) open_requests_.push_back({xid, what});
    to_server_.push(std::move(frame), core_.delay, false, self);
  }
  core_.publish_faults();
}

fate proxy_connection::fate_of_reply(const std::string& frame) {
  const auto xid = xid_of(frame);
  if (xid == notification_xid) return core_.armed.take(opcode::notification);
  const auto found = std::ranges::find(open_requests_, xid, &request::xid);
  if (found == open_requests_.end()) return fate::pass;
  const auto what = found->what;
  open_requests_.erase(found);
  if (strikes_later(what)) --core_.unstruck;
  return what;
}

void proxy_connection::on_server_frame(std::string frame) {
  const auto self = shared_from_this();
  if (server_.frames.opaque()) return to_client_.push(std::move(frame), core_.delay, false, self);
  if (!std::exchange(server_.greeted, true)) {
    on_connect_response(frame);
    return to_client_.push(std::move(frame), core_.delay, false, self);
  }
  const auto what = frame.size() < frame_splitter::prefix + sizeof(std::int32_t) ? fate::pass : fate_of_reply(frame);
  if (what == fate::drop || what == fate::drop_reply) {
    close();
  } else {
    to_client_.push(std::move(frame), core_.delay, what == fate::hold_reply, self);
  }
  if (what != fate::pass) core_.publish_faults();
}

void proxy_connection::on_connect_response(const std::string& frame) try {
  jute_reader in{std::string_view{frame}.substr(frame_splitter::prefix)};
  in.number<std::int32_t>();
  const auto timeout = in.number<std::int32_t>();
  session_credentials session{in.number<std::int64_t>(), {}};
  const auto password = in.bytes();
  if (timeout <= 0) return;  // the session has expired
  std::copy_n(password.begin(), std::min(password.size(), session.password.size()), session.password.begin());
  core_.seen.update([&](observations& seen) {
    seen.last_session = session;
    seen.attached.insert_or_assign(this, observations::attachment{session.id, server_index_});
  });
} catch (const connection_failure&) {
  // Not what we know: let it pass.
}

}  // namespace latchkey::testing::detail
