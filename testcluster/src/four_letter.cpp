// SPDX-License-Identifier: Apache-2.0
#include "latchkey/testing/four_letter.hpp"

#include <charconv>
#include <optional>

#include "connection.hpp"
#include "deadline.hpp"

namespace latchkey::testing {

namespace {

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view blank = " \t\r";
  const auto first = text.find_first_not_of(blank);
  return first == text.npos ? std::string_view{} : text.substr(first, text.find_last_not_of(blank) - first + 1);
}

/// Calls line(text, indented) for every line that is not empty.
template <class Line>
void each_line(std::string_view text, Line line) {
  while (!text.empty()) {
    const auto end = std::min(text.find('\n'), text.size());
    const auto whole = text.substr(0, end);
    if (const auto content = trimmed(whole); !content.empty()) line(content, whole.front() == '\t');
    text.remove_prefix(std::min(end + 1, text.size()));
  }
}

/// A decimal or 0x number at the beginning of the text; 0 if there is none.
std::int64_t number(std::string_view text) {
  const bool hex = text.starts_with("0x");
  if (hex) text.remove_prefix(2);
  if (text.starts_with('-')) return -number(text.substr(1));
  std::uint64_t value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value, hex ? 16 : 10);
  return static_cast<std::int64_t>(value);
}

std::string_view after(std::string_view text, std::string_view label) {
  const auto at = text.find(label);
  return at == text.npos ? std::string_view{} : trimmed(text.substr(at + label.size()));
}

std::int64_t value_of(const std::map<std::string, std::string>& fields, const std::string& name) {
  const auto found = fields.find(name);
  return found == fields.end() ? 0 : number(found->second);
}

/// " /127.0.0.1:40000[1](queued=0,recved=1,sent=0,sid=0x10,...)"
std::optional<connection_info> parse_connection(std::string_view line) {
  const auto bracket = line.find('[');
  const auto open = line.find('(');
  const auto shut = line.rfind(')');
  if (!line.starts_with('/') || open == line.npos || shut == line.npos || bracket > open) return std::nullopt;
  connection_info info;
  info.peer = line.substr(1, bracket - 1);
  for (auto rest = line.substr(open + 1, shut - open - 1); !rest.empty();) {
    const auto end = std::min(rest.find(','), rest.size());
    const auto field = rest.substr(0, end);
    if (const auto equals = field.find('='); equals != field.npos) {
      info.fields.emplace(field.substr(0, equals), field.substr(equals + 1));
    }
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  info.session_id = value_of(info.fields, "sid");
  info.queued = value_of(info.fields, "queued");
  info.received = value_of(info.fields, "recved");
  info.sent = value_of(info.fields, "sent");
  info.session_timeout = std::chrono::milliseconds{value_of(info.fields, "to")};
  if (const auto last = info.fields.find("lop"); last != info.fields.end()) info.last_operation = last->second;
  return info;
}

}  // namespace

std::string four_letter_words::ask(std::string_view word) const {
  const auto deadline = detail::deadline_after(timeout_);
  detail::connection link{server_, deadline};
  link.write(word, deadline);
  auto answer = link.read_to_end(deadline);
  if (answer.find("not currently serving requests") != answer.npos) {
    throw cluster_error(server_.to_string() + " is not serving: it has no quorum");
  }
  return answer;
}

bool four_letter_words::ruok() const try { return ask("ruok") == "imok"; } catch (const connection_failure&) {
  return false;
}

server_metrics four_letter_words::mntr() const {
  server_metrics result;
  each_line(ask("mntr"), [&](std::string_view line, bool) {
    const auto tab = line.find('\t');
    if (!line.starts_with("zk_") || tab == line.npos) return;
    result.all.emplace(line.substr(3, tab - 3), trimmed(line.substr(tab)));
  });
  result.server_state = result.all["server_state"];
  result.packets_received = value_of(result.all, "packets_received");
  result.packets_sent = value_of(result.all, "packets_sent");
  result.outstanding_requests = value_of(result.all, "outstanding_requests");
  result.watch_count = value_of(result.all, "watch_count");
  result.ephemerals_count = value_of(result.all, "ephemerals_count");
  result.znode_count = value_of(result.all, "znode_count");
  result.num_alive_connections = value_of(result.all, "num_alive_connections");
  return result;
}

server_summary four_letter_words::srvr() const {
  server_summary result;
  each_line(ask("srvr"), [&](std::string_view line, bool) {
    const auto value = after(line, ": ");
    if (line.starts_with("Zookeeper version")) result.version = value;
    if (line.starts_with("Mode")) result.mode = value;
    if (line.starts_with("Zxid")) result.zxid = number(value);
    if (line.starts_with("Received")) result.received = number(value);
    if (line.starts_with("Sent")) result.sent = number(value);
    if (line.starts_with("Connections")) result.connections = number(value);
    if (line.starts_with("Outstanding")) result.outstanding = number(value);
    if (line.starts_with("Node count")) result.node_count = number(value);
  });
  return result;
}

watch_totals four_letter_words::wchs() const {
  watch_totals result;
  each_line(ask("wchs"), [&](std::string_view line, bool) {  // "1 connections watching 2 paths", "Total watches:3"
    if (line.find(" connections watching ") != line.npos) {
      result.connections = number(line);
      result.paths = number(after(line, "watching"));
    }
    if (line.starts_with("Total watches:")) result.watches = number(after(line, ":"));
  });
  return result;
}

std::map<std::string, std::vector<std::int64_t>> four_letter_words::wchp() const {
  std::map<std::string, std::vector<std::int64_t>> result;
  auto current = result.end();
  each_line(ask("wchp"), [&](std::string_view line, bool indented) {
    if (!indented) current = result.try_emplace(std::string{line}).first;
    if (indented && current != result.end()) current->second.push_back(number(line));
  });
  return result;
}

std::map<std::int64_t, std::vector<std::string>> four_letter_words::wchc() const {
  std::map<std::int64_t, std::vector<std::string>> result;
  auto current = result.end();
  each_line(ask("wchc"), [&](std::string_view line, bool indented) {
    if (!indented) current = result.try_emplace(number(line)).first;
    if (indented && current != result.end()) current->second.emplace_back(line);
  });
  return result;
}

std::vector<connection_info> four_letter_words::cons() const {
  std::vector<connection_info> result;
  each_line(ask("cons"), [&](std::string_view line, bool) {
    if (auto info = parse_connection(line)) result.push_back(std::move(*info));
  });
  return result;
}

session_dump four_letter_words::dump() const {
  session_dump result;
  enum class section { none, sessions, ephemerals } where = section::none;
  std::int64_t owner = 0;
  each_line(ask("dump"), [&](std::string_view line, bool indented) {
    if (line.starts_with("Session Sets") || line.starts_with("Global Sessions")) where = section::sessions;
    if (line.starts_with("Sessions with Ephemerals")) where = section::ephemerals;
    if (line.starts_with("Connections")) where = section::none;
    if (where == section::sessions && line.starts_with("0x")) result.sessions.push_back(number(line));
    if (where != section::ephemerals) return;
    if (!indented && line.starts_with("0x")) owner = number(line);
    if (indented) result.ephemerals[owner].emplace_back(line);
  });
  return result;
}

void four_letter_words::srst() const { static_cast<void>(ask("srst")); }
void four_letter_words::crst() const { static_cast<void>(ask("crst")); }

}  // namespace latchkey::testing
