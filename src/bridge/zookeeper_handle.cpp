// SPDX-License-Identifier: Apache-2.0
#include "bridge/zookeeper_handle.hpp"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <limits>
#include <string_view>
#include <system_error>
#include <thread>
#include <utility>

#include <fmt/format.h>

#include "base/log.hpp"
#include "bridge/client_tls.hpp"
#include "bridge/close_on_exec.hpp"
#include "bridge/current_server.hpp"
#include "bridge/multi.hpp"
#include "bridge/reply_codes.hpp"
#include "bridge/reply_values.hpp"
#include "bridge/two_threads.hpp"

namespace latchkey::detail {
namespace {

using namespace std::chrono_literals;

/// For how long closing waits for the answers to what is in flight. Over a connection that works they are there at
/// once.
constexpr auto drain_time = 500ms;

/// What zookeeper_close gets for queueing the completions of what is in flight then; it needs about a microsecond each.
constexpr auto head_start = 50ms;

}  // namespace

struct zookeeper_handle::in_flight {
  in_flight(zookeeper_handle& handle, std::uint64_t number) : owner{handle}, id{number} {}

  zookeeper_handle& owner;
  const std::uint64_t id;
  std::list<in_flight>::iterator self;
  bool silent = false;        // `send` has said that there will be no answer
  std::size_t most_data = 0;  // of what is read
  multi operations;           // of what is a transaction
};

/// What the C client calls, on its completion thread: copies out, hands over, returns (HAZARDS 23).
struct completions {
  using in_flight = zookeeper_handle::in_flight;

  static void event(zhandle_t* handle, int type, int state, const char* path, void* context) noexcept {
    auto& self = *static_cast<zookeeper_handle*>(context);
    if (type == ZOO_SESSION_EVENT) return self.on_session_event(handle, state);
    if (path != nullptr && *path != '\0') self.listener_.on_watch(self.epoch_, to_watch_event(type), path);
  }

  static void created(int rc, const char* path, const Stat* stat, const void* data) noexcept {
    reply with;
    if (path != nullptr) with.path = path;
    if (rc == ZOK && with.path.empty()) rc = ZRUNTIMEINCONSISTENCY;  // it is there, and will be looked for
    with.stat = to_stat(stat);
    answer(data, rc, std::move(with));
  }

  static void read(int rc, const char* value, int size, const Stat* stat, const void* data) noexcept {
    reply with;
    if (rc == ZOK) copy_data(value, size, from(data).most_data, with);
    with.stat = to_stat(stat);
    answer(data, rc, std::move(with));
  }

  static void listed(int rc, const String_vector* names, const Stat* stat, const void* data) noexcept {
    reply with;
    if (rc == ZOK && !copy_names(names, with.children)) rc = ZMARSHALLINGERROR;
    with.stat = to_stat(stat);
    answer(data, rc, std::move(with));
  }

  static void acl_read(int rc, ACL_vector* acl, Stat*, const void* data) noexcept {
    reply with;
    if (rc == ZOK) with.data = permissions_of_anyone(acl);
    answer(data, rc, std::move(with));
  }

  static void synced(int rc, const char*, const void* data) noexcept { answer(data, rc, {}); }

  static void removed(int rc, const void* data) noexcept { answer(data, rc, {}); }

  static void changed(int rc, const Stat* stat, const void* data) noexcept {
    reply with;
    with.stat = to_stat(stat);
    answer(data, rc, std::move(with));
  }

  static void multi_done(int rc, const void* data) noexcept {
    reply with;
    const auto& operations = from(data).operations;
    with.results = operations.results();
    if (rc == ZOK) with.paths = operations.created();
    const bool known =
        std::none_of(with.paths.begin(), with.paths.end(), [](const auto& each) { return each.empty(); });
    if (!known) rc = ZRUNTIMEINCONSISTENCY;  // as in `created`
    answer(data, rc, std::move(with));
  }

 private:
  static in_flight& from(const void* data) { return *static_cast<in_flight*>(const_cast<void*>(data)); }

  static void answer(const void* data, int rc, reply with) noexcept {
    auto& operation = from(data);
    operation.owner.answer(operation, rc, std::move(with));
  }
};

zookeeper_handle::zookeeper_handle(std::uint64_t epoch, znodes_listener& listener, handle_options options)
    : epoch_{epoch}, listener_{listener}, options_{std::move(options)} {}

zookeeper_handle::~zookeeper_handle() { close(); }

std::string zookeeper_handle::open(const std::string& servers, const former_session& former) {
  constexpr std::chrono::milliseconds longest{std::numeric_limits<int>::max()};
  const auto timeout = static_cast<int>(std::clamp(options_.session_timeout, 1ms, longest).count());
  clientid_t id{former.id, {}};
  std::copy_n(former.password.begin(), std::min(former.password.size(), sizeof(id.passwd)), std::begin(id.passwd));
  const auto* const whose = former.id != 0 ? &id : nullptr;
  try {
    require_two_threads();  // HAZARDS 37
  } catch (const std::system_error& failed) {
    return fmt::format("the C client cannot have its two threads ({})", failed.code().message());
  }
  const pipes_before others;
  // One function and context for the session and all watches: otherwise session events cost O(watches^2) (HAZARDS 8).
  handle_ = servers_.begin(servers, [&] {
    if (!options_.tls) {
      return zookeeper_init2(servers.c_str(), &completions::event, timeout, whose, this, ZOO_NO_LOG_CLIENTENV,
                             servers_.log_function());
    }
    return options_.identity->read([&](const auto&, const std::string& tls) {
      errno = ECANCELED;  // forgotten: the client has been closed meanwhile
      if (tls.empty()) return static_cast<zhandle_t*>(nullptr);
      return open_with_tls(servers, tls, &completions::event, timeout, whose, this, ZOO_NO_LOG_CLIENTENV,
                           servers_.log_function());
    });
  });
  if (handle_ == nullptr) {
    return fmt::format("the C client could not be started for {} ({})", servers,
                       std::generic_category().message(errno));
  }
  others.close_later_ones_on_exec();              // HAZARDS 20
  zoo_set_servers_resolution_delay(handle_, -1);  // HAZARDS 2
  return {};
}

bool zookeeper_handle::send(std::uint64_t id, request what) {
  std::list<in_flight> made;
  auto& operation = made.emplace_back(*this, id);
  operation.self = made.begin();
  {
    const std::lock_guard lock{mutex_};
    in_flight_.splice(in_flight_.end(), made);
  }
  const int rc = call(std::move(what), operation);
  // After a success nothing of `operation` may be touched: its completion may have been.
  if (rc == ZOK) return true;
  if (rc == ZBADARGUMENTS || rc == ZINVALIDSTATE) {
    take(operation);  // refused before it was queued
    return false;
  }
  // Out of memory: it may have been queued half, and be completed later.
  const std::lock_guard lock{mutex_};
  operation.silent = true;
  return false;
}

int zookeeper_handle::call(request what, in_flight& operation) {
  const char* path = what.path.c_str();
  const watcher_fn watcher = what.watch ? &completions::event : nullptr;
  switch (what.kind) {
    case operation::create:
      return zoo_acreate2(handle_, path, what.data.data(), static_cast<int>(what.data.size()), options_.acl->get(),
                          to_mode(what.mode), &completions::created, &operation);
    case operation::remove:
      return zoo_adelete(handle_, path, -1, &completions::removed, &operation);
    case operation::children:
      return zoo_awget_children2(handle_, path, watcher, this, &completions::listed, &operation);
    case operation::get:
      operation.most_data = what.most_data;
      return zoo_awget(handle_, path, watcher, this, &completions::read, &operation);
    case operation::get_acl:
      return zoo_aget_acl(handle_, path, &completions::acl_read, &operation);
    case operation::sync:
      return zoo_async(handle_, path, &completions::synced, &operation);
    case operation::set:
      return zoo_aset(handle_, path, what.data.data(), static_cast<int>(what.data.size()), -1, &completions::changed,
                      &operation);
    case operation::transact:
      return operation.operations.call(handle_, std::move(what.steps), *options_.acl, &completions::multi_done,
                                       &operation);
  }
  return ZBADARGUMENTS;
}

std::list<zookeeper_handle::in_flight> zookeeper_handle::take(in_flight& operation) {
  std::list<in_flight> taken;
  const std::lock_guard lock{mutex_};
  taken.splice(taken.end(), in_flight_, operation.self);
  if (in_flight_.empty()) drained_.notify_all();
  return taken;
}

void zookeeper_handle::answer(in_flight& operation, int rc, reply with) noexcept {
  const auto taken = take(operation);
  // zookeeper_close queues the completions of what is in flight one by one, and this thread ends as soon as it finds
  // the queue empty: what comes later is lost, and leaked by the C client (HAZARDS 1). Let it finish that first.
  if (rc == ZCLOSING && !std::exchange(closing_, true)) std::this_thread::sleep_for(head_start);
  if (taken.front().silent) return;
  with.code = to_reply_code(rc);
  listener_.on_reply(epoch_, taken.front().id, std::move(with));
}

void zookeeper_handle::on_session_event(zhandle_t* handle, int state) noexcept {
  if (state == ZOO_CONNECTED_STATE) {
    auto server = servers_.server_of_next(server_of(handle));
    if (!authenticate(handle)) return;  // the connection is gone again: the next one is the first
    connected_ = true;
    const std::chrono::milliseconds timeout{zoo_recv_timeout(handle)};
    const auto& id = *zoo_client_id(handle);
    return tell(connection_state::connected, {.id = id.client_id,
                                              .timeout = timeout,
                                              .server = std::move(server),
                                              .asked_at = servers_.attempted_at(),
                                              .password = {std::begin(id.passwd), std::end(id.passwd)}});
  }
  // That was not asked for: it is no server (HAZARDS 36).
  if (state == ZOO_READONLY_STATE) {
    return tell(connection_state::connected, {.server = servers_.server_of_next(foreign_server_of(handle))});
  }
  const bool was_connected = std::exchange(connected_, false);
  if (state == ZOO_EXPIRED_SESSION_STATE) {
    tell(connection_state::expired);
  } else if (state == ZOO_AUTH_FAILED_STATE) {
    tell(connection_state::auth_failed);
  } else if (was_connected) {
    tell(connection_state::disconnected);
  }
}

void zookeeper_handle::tell(connection_state state, session_info info) noexcept {
  const std::lock_guard lock{telling_};
  if (hushed_) return;
  begun_ = begun_ || (state == connection_state::connected && info.is_plausible());
  listener_.on_connection(epoch_, state, std::move(info));
}

bool zookeeper_handle::awaits_server() const noexcept { return zoo_state(handle_) == ZOO_ASSOCIATING_STATE; }

bool zookeeper_handle::hush() noexcept {
  const std::lock_guard lock{telling_};
  hushed_ = !begun_;
  return hushed_;
}

/// Done at the first connection, before the session hears of it: right after the start zoo_add_auth refuses credentials
/// for good (ZINVALIDSTATE) when the first attempt to connect has already failed. The C client keeps them for later
/// connections. No completion: that would run on the IO thread (HAZARDS 17), and a refusal is an event anyway.
/// @returns whether all credentials have been taken.
bool zookeeper_handle::authenticate(zhandle_t* handle) noexcept {
  return options_.identity->read([&](const auto& all, const std::string&) {
    for (; authenticated_ < all.size(); ++authenticated_) {
      const auto& [scheme, data] = all[authenticated_];
      const int rc = zoo_add_auth(handle, scheme.c_str(), data.data(), static_cast<int>(data.size()), nullptr, nullptr);
      if (rc == ZINVALIDSTATE) return false;
      if (rc != ZOK) {
        log(log_level::error, "the C client refused the credentials; check client_options::authentication",
            {{"scheme", scheme}, {"code", name_and_number(to_reply_code(rc))}});
      }
    }
    return true;
  });
}

void zookeeper_handle::drain() noexcept {
  if (zoo_state(handle_) != ZOO_CONNECTED_STATE) return;
  std::unique_lock lock{mutex_};
  drained_.wait_for(lock, drain_time, [this] { return in_flight_.empty(); });
}

void zookeeper_handle::close() noexcept {
  if (handle_ == nullptr) return;
  servers_.end();
  drain();
  zookeeper_close(std::exchange(handle_, nullptr));
  in_flight_.clear();  // what the C client has lost; its threads have ended
}

}  // namespace latchkey::detail
