// SPDX-License-Identifier: Apache-2.0
#include "bridge/client_log.hpp"

#include <array>
#include <string>
#include <utility>

#include "base/log.hpp"

#include <zookeeper/zookeeper.h>

namespace latchkey::detail {
namespace {

constexpr std::array levels{
    std::pair{std::string_view{":ZOO_ERROR@"}, log_level::error},
    std::pair{std::string_view{":ZOO_WARN@"}, log_level::warning},
    std::pair{std::string_view{":ZOO_INFO@"}, log_level::info},
    std::pair{std::string_view{":ZOO_DEBUG@"}, log_level::debug},
};

}  // namespace

client_log_line parse_client_log(std::string_view line) noexcept {
  while (line.ends_with('\n')) line.remove_suffix(1);
  for (const auto& [mark, level] : levels) {
    const auto at = line.find(mark);
    if (at == std::string_view::npos) continue;
    const auto text = line.find(": ", at + mark.size());
    return {level, text == std::string_view::npos ? line.substr(at + 1) : line.substr(text + 2)};
  }
  return {log_level::warning, line};
}

void take_client_log(const char* line) noexcept {
  if (line == nullptr || !log_enabled()) return;
  const auto [level, text] = parse_client_log(line);
  try {
    log(level, "zookeeper: " + std::string{text});
  } catch (...) {  // no memory: the line is lost
  }
}

/// Never ZOO_LOG_LEVEL_DEBUG: it names the server by zoo_get_current_server, whose buffer is shared by all threads
/// (HAZARDS 19).
void set_client_log_level() noexcept { zoo_set_debug_level(log_enabled() ? ZOO_LOG_LEVEL_INFO : ZOO_LOG_LEVEL_WARN); }

}  // namespace latchkey::detail
