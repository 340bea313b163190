// SPDX-License-Identifier: Apache-2.0
#include "bridge/zookeeper_connector.hpp"

#include <algorithm>
#include <chrono>
#include <future>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include <latchkey/error.hpp>

#include "base/connect_string.hpp"
#include "bridge/access_list.hpp"
#include "bridge/client_log.hpp"
#include "bridge/client_tls.hpp"
#include "bridge/known_hosts.hpp"
#include "bridge/zookeeper_handle.hpp"

namespace latchkey::detail {
namespace {

/// Names that are looked up at once: one that is slow holds up no other, and a long connect string is no burst of threads.
constexpr std::size_t most_at_once = 32;

/// Of a handle whose session has never begun: there is nothing to end at the ensemble.
constexpr std::chrono::seconds longest_close{1};

/// @returns why there is no server; empty when there is one, or it is to be done without.
std::string failure_of(const known_hosts::servers& found) {
  if (found.failure.empty() || !found.list.empty()) return {};
  return fmt::format("no host of the connect string resolves ({})", found.failure);
}

void open_handle(std::uint64_t epoch, connector_listener& listener, const handle_options& options,
                 const known_hosts::servers& found, const former_session& former) {
  if (found.list.empty()) {
    return listener.on_opened(epoch, nullptr, failure_of(found));
  }
  auto handle = std::make_unique<zookeeper_handle>(epoch, listener, options);
  listener.on_opening(epoch);
  auto failure = handle->open(found.list, former);
  if (!failure.empty()) return listener.on_opened(epoch, nullptr, std::move(failure));
  listener.on_opened(epoch, std::move(handle), {});
}

/// Something that is no server may keep the C client from closing (HAZARDS 36): that is not waited for.
void close_in_time(std::shared_ptr<znodes>& hushed) {
  const auto last = std::make_shared<std::shared_ptr<znodes>>(std::move(hushed));  // who resets it closes
  std::promise<void> closed;
  const auto done = closed.get_future();
  try {
    std::thread{[last, closed = std::move(closed)]() mutable {
      last->reset();
      closed.set_value();
    }}.detach();
  } catch (const std::system_error&) {  // no thread: on this one
    last->reset();
  }
  static_cast<void>(done.wait_for(longest_close));
}

void require_schemes(const std::vector<credentials>& all) {
  for (const auto& each : all) {
    if (is_scheme(each.scheme)) continue;
    throw error{errc::bad_option,
                fmt::format("an entry of client_options::authentication has {}; use \"digest\" with \"user:password\"",
                            each.scheme.empty() ? "no scheme" : "a scheme with a character that no scheme has")};
  }
}

}  // namespace

zookeeper_connector::zookeeper_connector(connector_options options)
    : secrets_{std::make_shared<secrets>(options.authentication, options.tls)} {
  handle_options common;
  common.session_timeout = options.session_timeout;
  common.acl = std::make_shared<const access_list>(std::move(options.acl));
  common.identity = secrets_;
  common.tls = secrets_->read([](const auto& authentication, const std::string& tls) {
    if (!tls.empty()) validate_tls(tls);
    require_schemes(authentication);
    return !tls.empty();
  });
  options_ = std::make_shared<const handle_options>(std::move(common));
  hosts_ = std::make_shared<known_hosts>(options.hosts);
  set_client_log_level();
}

zookeeper_connector::~zookeeper_connector() { hosts_->stop_waiting(); }

void zookeeper_connector::open(std::uint64_t epoch, connector_listener& listener,
                               const std::vector<std::string>& without) {
  if (epoch != 0) session_ = &listener;
  open(epoch, listener, without, {});
}

void zookeeper_connector::resume(const former_session& session, connector_listener& listener) {
  open(0, listener, {}, session);
}

/// @param former of id 0: the session is to be a new one
void zookeeper_connector::open(std::uint64_t epoch, connector_listener& listener,
                               const std::vector<std::string>& without, const former_session& former) {
  look_for_moved_hosts();
  helpers_.run_in_halves(
      [epoch, &listener, hosts = hosts_, options = options_, without, former]() -> std::function<void()> {
        auto found = hosts->wait_for_servers(epoch, without);
        return [epoch, &listener, options, former, found = std::move(found)] {
          open_handle(epoch, listener, *options, found, former);
        };
      });
}

void zookeeper_connector::ask_name_servers(std::function<void(std::string failure)> answer) {
  look_for_moved_hosts();
  helpers_.run_in_halves([hosts = hosts_, answer = std::move(answer)]() -> std::function<void()> {
    return [answer, failure = failure_of(hosts->wait_for_servers(0, {}))] { answer(failure); };
  });
}

void zookeeper_connector::look_for_moved_hosts() {
  for (auto threads = hosts_->begin_round(most_at_once); threads > 0; --threads) {
    try {
      look_up_next();
    } catch (const std::system_error&) {
      hosts_->go_without(threads);
      throw;
    }
  }
}

/// Each answer is used when it comes.
void zookeeper_connector::look_up_next() {
  helpers_.run_in_halves([this, hosts = hosts_]() -> std::function<void()> {
    auto answer = hosts->look_up_next();
    return [this, answer = std::move(answer)] {  // the connector is still there
      if (!answer) return;
      if (!answer->moved.empty()) session_.load()->on_moved(answer->epoch, answer->moved);
      try {
        look_up_next();
      } catch (const std::system_error&) {  // in the next round
        hosts_->go_without(1);
      }
    };
  });
}

void zookeeper_connector::retire(std::unique_ptr<znodes> session, std::function<void()> on_closed) {
  // Shared, as a std::function wants to be copied.
  helpers_.run([session = std::shared_ptr<znodes>{std::move(session)}, on_closed = std::move(on_closed)]() mutable {
    if (session->hush()) {
      close_in_time(session);
    } else {
      session.reset();  // the destructor closes; on this thread, never on one of the C client (HAZARDS 1)
    }
    if (on_closed) on_closed();
  });
}

std::unique_ptr<connector> make_connector(std::string_view hosts, const client_options& options) {
  return std::make_unique<zookeeper_connector>(connector_options{
      parse_connect_string(hosts).hosts, options.session_timeout, options.authentication, {}, options.tls});
}

}  // namespace latchkey::detail
