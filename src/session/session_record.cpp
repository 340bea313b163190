// SPDX-License-Identifier: Apache-2.0
#include "session/session_record.hpp"

#include <algorithm>
#include <charconv>
#include <optional>
#include <system_error>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/json_members.hpp"

namespace latchkey::detail {
namespace {

using nlohmann::json;

constexpr std::string_view beginning = R"({"latchkey":1,)";
constexpr std::string_view before_sum = R"(,"sum":")";
constexpr std::size_t digits_of_sum = 16;

/// FNV-1a: another byte in one place is always another sum.
std::uint64_t sum_of(std::string_view text) noexcept {
  std::uint64_t sum = 0xcbf29ce484222325;
  for (const char each : text) sum = (sum ^ static_cast<unsigned char>(each)) * 0x100000001b3;
  return sum;
}

/// @param members in the form of JSON, without braces
std::string line(const json& members) {
  auto text = std::string{beginning} + members.dump(-1, ' ', true, json::error_handler_t::replace).substr(1);
  text.pop_back();
  return fmt::format("{}{}{:016x}\"}}\n", text, before_sum, sum_of(text));
}

/// @returns what a whole line says; nothing if it is damaged.
json members_of(std::string_view line) {
  const auto at = line.rfind(before_sum);
  if (!line.starts_with(beginning) || at == line.npos) return {};
  const auto text = line.substr(0, at);
  if (line.substr(at) != fmt::format("{}{:016x}\"}}", before_sum, sum_of(text))) return {};
  return json::parse(line, nullptr, false);
}

std::string hexadecimal(std::string_view bytes) {
  std::string text;
  for (const char each : bytes) text += fmt::format("{:02x}", static_cast<unsigned char>(each));
  return text;
}

std::optional<std::uint64_t> number_of(std::string_view digits) {
  std::uint64_t number = 0;
  const auto* const end = digits.data() + digits.size();
  const auto [read, failure] = std::from_chars(digits.data(), end, number, 16);
  if (failure != std::errc{} || read != end) return std::nullopt;
  return number;
}

std::string bytes_of(std::string_view digits) {
  std::string bytes;
  for (std::size_t at = 0; at + 1 < digits.size(); at += 2) {
    bytes += static_cast<char>(number_of(digits.substr(at, 2)).value_or(0));
  }
  return bytes;
}

/// @returns whether what comes next belongs to it.
bool read_line(std::string_view line, session_records& into) {
  const auto members = members_of(line);
  if (!members.is_object()) return true;
  into.is_foreign = false;
  if (members.contains("pid")) {
    if (into.owner.pid != 0) return false;  // two files in one: each process answers for its own sessions
    into.owner = {number_at(members, "pid"), number_at(members, "start"), text_at(members, "boot"),
                  text_at(members, "pid_namespace")};
  }
  if (const auto id = number_of(text_at(members, "session")).value_or(0); id != 0) {
    into.sessions.push_back({static_cast<std::int64_t>(id), bytes_of(text_at(members, "password")),
                             std::chrono::milliseconds{number_at(members, "timeout_ms")}, text_at(members, "servers")});
  }
  return true;
}

}  // namespace

std::string line_of(const process_mark& owner) {
  return line(
      {{"pid", owner.pid}, {"start", owner.start}, {"boot", owner.boot}, {"pid_namespace", owner.pid_namespace}});
}

std::string line_of(const recorded_session& session) {
  return line({{"session", fmt::format("{:x}", static_cast<std::uint64_t>(session.id))},
               {"password", hexadecimal(session.password)},
               {"timeout_ms", session.timeout.count()},
               {"servers", session.servers}});
}

session_records read_session_records(std::string_view text) {
  session_records all;
  const auto shown = std::min(text.size(), beginning.size());
  const bool is_blank = text.find_first_not_of('\0') == text.npos;  // as a file system leaves it after a power loss
  all.is_foreign = !is_blank && text.substr(0, shown) != beginning.substr(0, shown);
  while (!text.empty()) {
    const auto end = text.find('\n');
    if (end == text.npos) break;  // its writer has died
    if (!read_line(text.substr(0, end), all)) break;
    text.remove_prefix(end + 1);
  }
  return all;
}

}  // namespace latchkey::detail
