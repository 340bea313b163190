// SPDX-License-Identifier: Apache-2.0
#include "bridge/client_log.hpp"

#include <array>
#include <atomic>
#include <mutex>
#include <utility>

#include <fmt/format.h>
#include <latchkey/clock.hpp>

#include "base/escape.hpp"
#include "base/log.hpp"

#include <zookeeper/zookeeper.h>

namespace latchkey::detail {
namespace {

constexpr std::array levels{
    std::pair{std::string_view{":ZOO_ERROR@"}, log_level::warning},
    std::pair{std::string_view{":ZOO_WARN@"}, log_level::debug},
    std::pair{std::string_view{":ZOO_INFO@"}, log_level::debug},
    std::pair{std::string_view{":ZOO_DEBUG@"}, log_level::debug},
};

constexpr std::string_view connection_mark = "Socket ";

/// "Socket 127.0.0.1:1 zk retcode=-4, errno=111(Connection refused): server refused to accept the client"
bool is_of_connection(std::string_view text) {
  return text.starts_with(connection_mark) && text.find(" zk retcode=") != std::string_view::npos;
}

struct shared_limiter {
  std::mutex mutex;
  client_log_limiter limiter;
};

/// Never destroyed: threads of the C client may log while the static objects of the process go.
shared_limiter& limiter() {
  static auto& instance = *new shared_limiter;
  return instance;
}

/// Who is told of the lines of each callback; without a destructor, as above.
std::array<std::atomic<const std::function<void(std::string_view)>*>, handle_log::most> told{};

template <std::size_t Place>
void take_line_of(const char* line) noexcept {
  take_client_log(line);
  const auto* const whom = told[Place].load(std::memory_order_acquire);
  if (whom == nullptr || line == nullptr) return;
  if (const auto text = parse_client_log(line).text; is_of_connection(text)) (*whom)(text);
}

template <std::size_t... Places>
constexpr std::array<handle_log::callback, sizeof...(Places)> callbacks_of(std::index_sequence<Places...>) {
  return {&take_line_of<Places>...};
}
constexpr auto callbacks = callbacks_of(std::make_index_sequence<handle_log::most>{});

}  // namespace

client_log_line parse_client_log(std::string_view line) noexcept {
  while (line.ends_with('\n')) line.remove_suffix(1);
  for (const auto& [mark, level] : levels) {
    const auto at = line.find(mark);
    if (at == std::string_view::npos) continue;
    const auto place = line.substr(at + mark.size());
    const auto end = place.find(": ");
    if (end == std::string_view::npos) return {level, {}, place};
    const auto text = place.substr(end + 2);
    return {is_of_connection(text) ? log_level::debug : level, place.substr(0, end), text};
  }
  return {log_level::warning, {}, line};
}

std::optional<std::uint64_t> client_log_limiter::pass(std::string_view place, time_point now) {
  const auto at = places_.find(place);
  if (at == places_.end()) {
    places_.emplace(std::string{place}, last_line{now});
    return 0;
  }
  auto& last = at->second;
  if (now < last.passed + interval) {
    ++last.held_back;
    return std::nullopt;
  }
  last.passed = now;
  return std::exchange(last.held_back, 0);
}

bool says_closed_by_server(std::string_view text) noexcept {
  return is_of_connection(text) && text.ends_with(": failed while receiving a server response");
}

std::string server_in(std::string_view text) {
  std::string name{text.substr(0, text.find(" zk retcode="))};
  name.erase(0, connection_mark.size());
  std::erase_if(name, [](char each) { return each == '[' || each == ']'; });
  return name;
}

void take_client_log(const char* line) noexcept {
  if (line == nullptr) return;
  const auto [level, place, text] = parse_client_log(line);
  if (!log_enabled(level)) return;
  try {
    std::optional<std::uint64_t> held_back;
    {
      auto& shared = limiter();
      const std::lock_guard lock{shared.mutex};
      held_back = shared.limiter.pass(place, boottime_clock::now());
    }
    if (!held_back) return;
    const auto whole = "the C client says: " + escaped(text);
    if (*held_back == 0) return log(level, whole);
    log(level, whole, {{"similar_lines_held_back", *held_back}});
  } catch (...) {  // no memory: the line is lost
  }
}

handle_log::handle_log(std::function<void(std::string_view)> on_failed_connection)
    : on_failed_connection_{std::move(on_failed_connection)} {
  for (std::size_t place = 0; place < most; ++place) {
    const std::function<void(std::string_view)>* none = nullptr;
    if (!told[place].compare_exchange_strong(none, &on_failed_connection_)) continue;
    place_ = place;
    return;
  }
}

handle_log::~handle_log() {
  if (place_ < most) told[place_] = nullptr;
}

handle_log::callback handle_log::function() const noexcept {
  return place_ < most ? callbacks[place_] : &take_client_log;
}

/// Errors at least, which say that a connection has failed. Never ZOO_LOG_LEVEL_DEBUG: it names the server by
/// zoo_get_current_server, whose buffer is shared by all threads (HAZARDS 19).
void set_client_log_level() noexcept {
  zoo_set_debug_level(log_enabled(log_level::debug) ? ZOO_LOG_LEVEL_INFO : ZOO_LOG_LEVEL_ERROR);
}

}  // namespace latchkey::detail
