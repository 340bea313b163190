// SPDX-License-Identifier: Apache-2.0
#include "simulation/trace.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace latchkey::testing {

std::string to_string(detail::reply_code code) {
  if (code == detail::reply_code::not_sent) return "not sent";
  if (code == detail::reply_code::unknown_outcome) return "unknown outcome";
  return detail::zookeeper_name(code);
}

std::string_view to_string(detail::operation kind) noexcept {
  using enum detail::operation;
  switch (kind) {
    case create:
      return "create";
    case remove:
      return "remove";
    case children:
      return "children";
    case get:
      return "get";
    case get_acl:
      return "get_acl";
    case sync:
      return "sync";
    case set:
      return "set";
    case transact:
      return "transact";
  }
  return "?";
}

std::string_view to_string(detail::watch_event event) noexcept {
  using enum detail::watch_event;
  switch (event) {
    case changed:
      return "changed";
    case deleted:
      return "deleted";
    case children_changed:
      return "children changed";
  }
  return "?";
}

std::string_view to_string(detail::connection_state state) noexcept {
  using enum detail::connection_state;
  switch (state) {
    case connected:
      return "connected";
    case disconnected:
      return "disconnected";
    case expired:
      return "expired";
    case auth_failed:
      return "auth failed";
  }
  return "?";
}

std::string describe(const detail::request& what) {
  static constexpr std::string_view steps[] = {"check", "create", "set", "remove"};
  auto text = fmt::format("{} {}{}", to_string(what.kind), what.path, what.watch ? " (watch)" : "");
  for (const auto& each : what.steps)
    text += fmt::format("{} {}; ", steps[static_cast<std::size_t>(each.what)], each.path);
  return text;
}

std::string describe(const detail::reply& answer) {
  return fmt::format("{} {}{}", to_string(answer.code), answer.path, fmt::join(answer.children, " "));
}

std::string describe(const commit& what, const path_table& paths) {
  static constexpr std::string_view kinds[] = {"session opened", "session over", "created", "removed",
                                               "changed",        "checked",      "failed"};
  return fmt::format("{:x}: {} {} by session {:x}", what.zxid, kinds[static_cast<std::size_t>(what.kind)],
                     paths.text(what.path), what.session);
}

}  // namespace latchkey::testing
