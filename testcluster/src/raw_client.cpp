// SPDX-License-Identifier: Apache-2.0
#include "latchkey/testing/raw_client.hpp"

#include <algorithm>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <stop_token>
#include <thread>
#include <utility>
#include <vector>

#include "connection.hpp"
#include "deadline.hpp"
#include "end_session.hpp"
#include "jute.hpp"

namespace latchkey::testing {

using detail::jute_reader;
using detail::jute_writer;
using detail::steady;

namespace {

constexpr int no_node = -101;
constexpr int node_exists = -110;

struct granted {
  session_credentials session;
  std::chrono::milliseconds timeout;
};

std::string connect_request(const session_credentials& session, std::chrono::milliseconds timeout) {
  return jute_writer{}
      .number(std::int32_t{0})
      .number(std::int64_t{0})
      .number(static_cast<std::int32_t>(timeout.count()))
      .number(session.id)
      .bytes({session.password.data(), session.password.size()})
      .boolean(false)
      .frame();
}

granted parse_connect_response(const std::string& frame) {
  jute_reader in{frame};
  in.number<std::int32_t>();
  granted result{{}, std::chrono::milliseconds{in.number<std::int32_t>()}};
  result.session.id = in.number<std::int64_t>();
  const auto password = in.bytes();
  std::copy_n(password.begin(), std::min(password.size(), result.session.password.size()),
              result.session.password.begin());
  if (result.timeout.count() <= 0) throw session_refused("the session has ended, or its password is wrong");
  return result;
}

jute_writer header(std::int32_t xid, opcode operation) {
  return jute_writer{}.number(xid).number(static_cast<std::int32_t>(operation));
}

/// Of the requests that free stuck ones; none of ZooKeeper's own numbers.
constexpr std::int32_t nudge_xid = -100;
constexpr std::chrono::seconds nudge_after{1};

std::string parent_of(std::string_view path) { return std::string{path.substr(0, path.rfind('/'))}; }

}  // namespace

struct raw_client::impl {
  impl(const endpoint& server, const session_credentials& session, const options& how)
      : request_timeout(how.request_timeout) {
    const auto deadline = detail::deadline_after(request_timeout);
    const auto request = connect_request(session, how.session_timeout);
    // A session that is being made can get stuck, too (see free_stuck_request): another connection frees the server.
    std::vector<std::unique_ptr<detail::connection>> stuck;
    do {
      if (link) stuck.push_back(std::move(link));
      link = std::make_unique<detail::connection>(server, deadline);
      link->write(request, deadline);
    } while (!link->readable(std::min(deadline, steady::now() + nudge_after)) && steady::now() < deadline);
    grant = parse_connect_response(link->read_frame(deadline));
    pinger = std::jthread{[this](std::stop_token stop) { keep_alive(std::move(stop)); }};
  }

  /// Sends one request, returns what follows the header of the reply.
  template <class Fill>
  std::string call(opcode operation, std::string_view path, Fill fill) {
    std::lock_guard lock{mutex};
    const auto xid = ++last_xid;
    auto request = header(xid, operation);
    fill(request);
    const auto frame = exchange(xid, request.frame());
    if (const auto code = jute_reader{std::string_view{frame}.substr(12)}.number<std::int32_t>(); code != 0) {
      throw operation_failed(code, to_string(operation) + " " + std::string{path} + ": error " + std::to_string(code));
    }
    return frame.substr(16);
  }

  std::string exchange(std::int32_t xid, const std::string& request) {
    if (broken) throw connection_failure("this raw client has lost its connection or is closed");
    broken = true;  // until the reply is here
    const auto deadline = detail::deadline_after(request_timeout);
    link->write(request, deadline);
    while (true) {
      free_stuck_request(deadline);
      auto frame = link->read_frame(deadline);
      const auto answered = frame.size() < 16 ? 0 : jute_reader{frame}.number<std::int32_t>();
      if (answered == nudge_xid) continue;
      if (answered != xid) throw connection_failure("a reply that belongs to no request");
      broken = false;
      return frame;
    }
  }

  /// ZOOKEEPER-4537: the commit processor can miss a wake-up, and then answers only after another request of the
  /// session.
  void free_stuck_request(steady::time_point deadline) {
    while (!link->readable(std::min(deadline, steady::now() + nudge_after))) {
      if (steady::now() >= deadline) return;
      link->write(header(nudge_xid, opcode::sync).bytes("/").frame(), deadline);
    }
  }

  void ping() {
    std::lock_guard lock{mutex};
    exchange(detail::ping_xid, header(detail::ping_xid, opcode::ping).frame());
  }

  void keep_alive(std::stop_token stop) noexcept try {
    std::unique_lock lock{sleep_mutex};
    while (!sleep.wait_for(lock, stop, grant.timeout / 3, [&] { return stop.stop_requested(); })) ping();
  } catch (const cluster_error&) {
    // The next call of the owner reports it.
  }

  void stop_pinging() {
    pinger.request_stop();
    if (pinger.joinable()) pinger.join();
  }

  std::chrono::milliseconds request_timeout;
  std::mutex mutex;  // one request at a time
  std::unique_ptr<detail::connection> link;
  bool broken = false;
  std::int32_t last_xid = 0;
  granted grant;
  std::mutex sleep_mutex;
  std::condition_variable_any sleep;
  std::jthread pinger;
};

raw_client::raw_client(const endpoint& server) : raw_client(server, options{}) {}
raw_client::raw_client(const endpoint& server, const options& how) : raw_client(server, session_credentials{}, how) {}
raw_client::raw_client(const endpoint& server, const session_credentials& session, const options& how)
    : impl_(std::make_unique<impl>(server, session, how)) {}

raw_client::~raw_client() {
  impl_->stop_pinging();
  impl_->request_timeout = std::min(impl_->request_timeout, std::chrono::milliseconds{1'000});
  try {
    if (!impl_->broken) close();
  } catch (const std::exception&) {
    // The server will expire the session.
  }
}

std::string raw_client::create(std::string_view path, std::string_view data, create_mode mode) {
  const auto operation = mode == create_mode::container ? opcode::create_container : opcode::create;
  const auto reply = impl_->call(operation, path, [&](jute_writer& out) {
    out.bytes(path).bytes(data).open_acl().number(static_cast<std::int32_t>(mode));
  });
  return jute_reader{reply}.bytes();
}

void raw_client::create_all(std::string_view path) {
  if (path.size() <= 1 || exists(path)) return;
  create_all(parent_of(path));
  try {
    create(path);
  } catch (const operation_failed& failure) {
    if (failure.code() != node_exists) throw;
  }
}

bool raw_client::remove(std::string_view path) try {
  impl_->call(opcode::remove, path, [&](jute_writer& out) { out.bytes(path).number(std::int32_t{-1}); });
  return true;
} catch (const operation_failed& failure) {
  if (failure.code() != no_node) throw;
  return false;
}

bool raw_client::remove_all(std::string_view path) {
  for (const auto& name : children(path)) remove_all(std::string{path == "/" ? "" : path} + "/" + name);
  return remove(path);
}

node_stat raw_client::set(std::string_view path, std::string_view data) {
  const auto reply = impl_->call(opcode::set_data, path,
                                 [&](jute_writer& out) { out.bytes(path).bytes(data).number(std::int32_t{-1}); });
  return jute_reader{reply}.stat();
}

std::optional<std::string> raw_client::get(std::string_view path) try {
  const auto reply = impl_->call(opcode::get_data, path, [&](jute_writer& out) { out.bytes(path).boolean(false); });
  return jute_reader{reply}.bytes();
} catch (const operation_failed& failure) {
  if (failure.code() != no_node) throw;
  return std::nullopt;
}

std::optional<node_stat> raw_client::exists(std::string_view path) try {
  const auto reply = impl_->call(opcode::exists, path, [&](jute_writer& out) { out.bytes(path).boolean(false); });
  return jute_reader{reply}.stat();
} catch (const operation_failed& failure) {
  if (failure.code() != no_node) throw;
  return std::nullopt;
}

std::vector<std::string> raw_client::children(std::string_view path) try {
  const auto reply = impl_->call(opcode::get_children, path, [&](jute_writer& out) { out.bytes(path).boolean(false); });
  auto names = jute_reader{reply}.strings();
  std::ranges::sort(names);
  return names;
} catch (const operation_failed& failure) {
  if (failure.code() != no_node) throw;
  return {};
}

void raw_client::sync(std::string_view path) {
  impl_->call(opcode::sync, path, [&](jute_writer& out) { out.bytes(path); });
}

void raw_client::ping() { impl_->ping(); }

void raw_client::close() {
  impl_->stop_pinging();
  impl_->call(opcode::close_session, "", [](jute_writer&) {});
  abandon();
}

void raw_client::abandon() noexcept {
  impl_->stop_pinging();
  std::lock_guard lock{impl_->mutex};
  impl_->broken = true;
  impl_->link->close();
}

session_credentials raw_client::session() const { return impl_->grant.session; }
std::chrono::milliseconds raw_client::session_timeout() const { return impl_->grant.timeout; }

void detail::end_session(const endpoint& server, const session_credentials& session,
                         std::chrono::milliseconds timeout) {
  const auto deadline = detail::deadline_after(timeout);
  connection link{server, deadline};
  constexpr std::chrono::milliseconds soon{1'000};
  link.write(connect_request(session, soon) + header(1, opcode::close_session).frame(), deadline);
  parse_connect_response(link.read_frame(deadline));
  link.read_frame(deadline);
}

}  // namespace latchkey::testing
