// SPDX-License-Identifier: Apache-2.0
#include "service.hpp"

#include <condition_variable>
#include <cstdio>
#include <fstream>
#include <iostream>
#include <syncstream>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <latchkey/boost_asio.hpp>
#include <latchkey/queue_snapshot.hpp>

#include <fmt/chrono.h>

using namespace std::chrono_literals;
using boost::asio::awaitable;
using boost::asio::use_awaitable;
using nlohmann::json;

namespace bank {
namespace {

constexpr auto patience = 2s;  // of a request

std::string text_of(const json& what) { return what.dump(-1, ' ', false, json::error_handler_t::replace) + '\n'; }

std::int64_t read_max_deposit(const std::filesystem::path& file) {
  std::ifstream in{file};
  return json::parse(in).at("max_deposit").get<std::int64_t>();
}

}  // namespace

void log(std::string_view level, std::string_view event, json fields) {
  const auto now = fmt::format("{:%FT%TZ}", fmt::gmtime(std::chrono::system_clock::now()));
  fields.update({{"time", now}, {"level", level}, {"event", event}});
  std::osyncstream{std::cout} << text_of(fields) << std::flush;
}

service::service(latchkey::client& client, const reachability& ensemble, ledger& accounts, std::filesystem::path config)
    : client_{client},
      ensemble_{ensemble},
      ledger_{accounts},
      nightly_{client, "/locks/nightly", {.group = "nightly"}},
      config_{client, "/locks/config", {.linger = 1min, .group = "config"}},  // most requests send nothing for it
      config_file_{std::move(config)},
      max_deposit_{read_max_deposit(config_file_)} {}

awaitable<answer> service::handle(std::string method, std::string target) {
  try {
    co_return co_await route(method, target);
  } catch (const std::exception& failure) {
    log("error", "request failed", {{"target", target}, {"why", failure.what()}});
    const auto* error = dynamic_cast<const latchkey::error*>(&failure);
    if (error && error->code() == latchkey::errc::unreachable)
      co_return answer{503, text_of({{"error", "ensemble unreachable"}})};
    co_return answer{500, text_of({{"error", "internal error, see the log"}})};
  }
}

awaitable<answer> service::route(std::string method, std::string target) {
  const auto what = method + ' ' + target;
  // An id becomes part of a path: letters, digits and hyphens only.
  char id[33];
  char amount[16];
  int end = 0;  // of what was understood
  std::sscanf(what.c_str(), "POST /accounts/%32[A-Za-z0-9-]/deposit?amount=%15[0-9]%n", id, amount, &end);
  if (end == std::ssize(what)) co_return co_await deposit(id, std::stoll(amount));
  std::sscanf(what.c_str(), "GET /accounts/%32[A-Za-z0-9-]%n", id, &end);
  if (end == std::ssize(what)) co_return answer{200, text_of({{"balance", ledger_.balance(id)}})};
  if (what == "POST /reload") co_return co_await reload();
  if (what == "GET /metrics") co_return answer{200, to_prometheus(client_.metrics()), "text/plain; version=0.0.4"};
  if (what != "GET /health") co_return answer{404, text_of({{"error", "no such resource"}})};
  std::uint64_t waiting = 0;  // for locks that others hold, which is no illness
  for (const auto& group : client_.metrics().locks) waiting += group.waiting;
  const bool up = ensemble_.up;
  co_return answer{up ? 200 : 503, text_of({{"ensemble", up ? "up" : "unreachable"}, {"waiting_calls", waiting}})};
}

awaitable<answer> service::deposit(std::string id, std::int64_t amount) {
  const auto until = std::chrono::steady_clock::now() + patience;
  const auto reading = co_await async_try_acquire_shared_for(config_, patience, use_awaitable);
  if (!reading) co_return co_await locked(config_.path());  // a reload waits for this request
  const auto limit = max_deposit(reading);
  if (amount < 1 || amount > limit)
    co_return answer{422, text_of({{"error", "amount out of range"}, {"max_deposit", limit}})};

  latchkey::mutex account{client_, "/locks/accounts/" + id, {.group = "accounts"}};
  const auto left = until - std::chrono::steady_clock::now();
  const auto held = co_await async_try_acquire_for(account, left, use_awaitable);
  if (!held) co_return co_await locked(account.path());
  const auto balance = ledger_.balance(id) + amount;
  if (!ledger_.write(id, balance, held.fence()))
    co_return answer{503, text_of({{"error", "lock lost, nothing written"}})};
  log("info", "deposit", {{"account", id}, {"amount", amount}, {"fence", to_string(held.fence())}});
  co_return answer{200, text_of({{"balance", balance}})};
}

awaitable<answer> service::locked(std::string path) {
  co_return co_await co_spawn(asking_, holders_of(std::move(path)), use_awaitable);
}

/// Says who holds a lock. Blocks, so it has a thread of its own. If no server answers, this throws: a 503.
awaitable<answer> service::holders_of(std::string path) {
  const latchkey::queue_snapshot queue{client_, path, 1s};
  json holders = json::array();
  for (const auto& who : queue.holders())
    holders.push_back({{"label", who.label}, {"host", who.host}, {"pid", who.pid}});
  co_return answer{409, text_of({{"error", "locked"}, {"lock", path}, {"holders", holders}})};
}

/// Waits for the requests of all instances that use the old settings. Those that follow read the file again.
awaitable<answer> service::reload() {
  const auto writing = co_await async_try_acquire_for(config_, patience, use_awaitable);
  if (!writing) co_return co_await locked(config_.path());
  co_return answer{200, text_of({{"max_deposit", read_max_deposit(config_file_)}})};
}

/// Readers of one object share an entry of the queue. They have a new one if a writer came in between.
std::int64_t service::max_deposit(const latchkey::guard& reading) {
  const std::lock_guard lock{settings_};
  if (std::exchange(read_under_, reading.fence().czxid) == reading.fence().czxid) return max_deposit_;
  try {
    max_deposit_ = read_max_deposit(config_file_);
  } catch (const std::exception& failure) {
    log("error", "settings not read, the old ones stay", {{"why", failure.what()}});
  }
  return max_deposit_;
}

ending service::close_day(std::chrono::sys_days day, std::stop_token shutdown,
                          std::function<void(const std::string&)> print) {
  auto held = nightly_.acquire(shutdown);
  const auto stop = held.stop_token(shutdown);
  while (held && !stop.stop_requested()) {
    const auto id = ledger_.close_one(day);
    if (!id) break;
    print(*id);
  }
  const auto how = shutdown.stop_requested() ? ending::shutdown : held ? ending::finished : ending::lost;
  const auto* const level = how == ending::lost ? "warning" : "info";
  log(level, "nightly job ended", {{"shutdown", how == ending::shutdown}, {"lock", to_string(held.grant())}});
  return how;
}

void service::every_night(std::stop_token shutdown) {
  std::mutex mutex;
  std::condition_variable_any midnight;
  while (!shutdown.stop_requested()) {
    const auto today = std::chrono::floor<std::chrono::days>(std::chrono::system_clock::now());
    try {
      const auto how = close_day(today, shutdown, [](const auto& id) { log("info", "statement", {{"account", id}}); });
      if (how == ending::lost) continue;  // the rest, once the lock is ours again
    } catch (const std::exception& failure) {
      log("error", "nightly job failed", {{"why", failure.what()}});
    }
    std::unique_lock lock{mutex};
    midnight.wait_until(lock, shutdown, today + std::chrono::days{1}, [] { return false; });
  }
}

}  // namespace bank
