// SPDX-License-Identifier: Apache-2.0
#include "bridge/zookeeper_connector.hpp"

#include <algorithm>
#include <random>
#include <utility>

#include <fmt/format.h>

#include <latchkey/error.hpp>

#include "base/log.hpp"
#include "bridge/access_list.hpp"
#include "bridge/client_log.hpp"
#include "bridge/client_tls.hpp"
#include "bridge/resolver.hpp"
#include "bridge/zookeeper_handle.hpp"

namespace latchkey::detail {
namespace {

struct servers {
  std::vector<std::string> sorted;
  std::string list;
  std::string failure;
};

servers find_servers(const std::vector<std::string>& hosts, const std::vector<std::string>& without = {}) {
  servers found;
  auto addresses = resolve(hosts, found.failure);
  std::erase_if(addresses, [&](const std::string& each) {
    return std::find(without.begin(), without.end(), each) != without.end();
  });
  if (addresses.empty()) return found;
  if (!found.failure.empty())
    log(log_level::warning, "some hosts of the connect string do not resolve; connecting to the others",
        {{"cause", found.failure}});
  std::sort(addresses.begin(), addresses.end());
  found.sorted = addresses;
  std::minstd_rand random{std::random_device{}()};
  found.list = to_server_list(std::move(addresses), random);
  return found;
}

void open_handle(std::uint64_t epoch, connector_listener& listener, const handle_options& options, servers found) {
  if (found.list.empty()) {
    auto failure = found.failure.empty() ? std::string{}
                                         : fmt::format("no host of the connect string resolves ({})", found.failure);
    return listener.on_opened(epoch, nullptr, std::move(failure));
  }
  auto handle = std::make_unique<zookeeper_handle>(epoch, listener, options);
  auto failure = handle->open(found.list);
  if (!failure.empty()) return listener.on_opened(epoch, nullptr, std::move(failure));
  listener.on_opened(epoch, std::move(handle), {});
}

void require_schemes(const std::vector<credentials>& all) {
  if (std::none_of(all.begin(), all.end(), [](const credentials& each) { return each.scheme.empty(); })) return;
  throw error{errc::bad_option,
              "an entry of client_options::authentication has no scheme; use \"digest\" with \"user:password\""};
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
  hosts_ = std::make_shared<const std::vector<std::string>>(std::move(options.hosts));
  set_client_log_level();
}

zookeeper_connector::~zookeeper_connector() = default;

void zookeeper_connector::open(std::uint64_t epoch, connector_listener& listener,
                               const std::vector<std::string>& without) {
  helpers_.run_in_halves(
      [epoch, &listener, hosts = hosts_, options = options_, known = known_, without]() -> std::function<void()> {
        auto found = find_servers(*hosts, without);
        {
          const std::lock_guard lock{known->mutex};
          known->sorted = found.sorted;
        }
        return [epoch, &listener, options, found = std::move(found)] { open_handle(epoch, listener, *options, found); };
      });
}

void zookeeper_connector::look_for_moved_hosts(std::uint64_t epoch, connector_listener& listener) {
  helpers_.run_in_halves([epoch, &listener, hosts = hosts_, known = known_]() -> std::function<void()> {
    const auto found = find_servers(*hosts);
    const std::lock_guard lock{known->mutex};
    // No answer, or a part of one, says nothing new.
    const bool moved = found.failure.empty() && found.sorted != known->sorted;
    return [epoch, &listener, moved] {
      if (moved) listener.on_moved(epoch);
    };
  });
}

void zookeeper_connector::retire(std::unique_ptr<znodes> session, std::function<void()> on_closed) {
  // Shared, as a std::function wants to be copied.
  helpers_.run([session = std::shared_ptr<znodes>{std::move(session)}, on_closed = std::move(on_closed)]() mutable {
    session.reset();  // the destructor closes; on this thread, never on one of the C client (HAZARDS 1)
    if (on_closed) on_closed();
  });
}

}  // namespace latchkey::detail
