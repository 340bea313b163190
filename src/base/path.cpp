// SPDX-License-Identifier: Apache-2.0
#include "base/path.hpp"

#include <cstdint>
#include <iterator>

#include <fmt/format.h>
#include <latchkey/error.hpp>

#include "base/escape.hpp"

namespace latchkey::detail {
namespace {

/// Stands for bytes that are no UTF-8: what a Java server makes of them.
constexpr std::uint32_t replacement = 0xfffd;

/// Takes one character of UTF-8 off `text`. @pre not empty
std::uint32_t take_character(std::string_view& text) {
  const auto first = static_cast<unsigned char>(text.front());
  text.remove_prefix(1);
  if (first < 0x80) return first;
  const std::size_t more = first >= 0xf0 ? 3 : first >= 0xe0 ? 2 : 1;
  if (first < 0xc2 || first > 0xf4 || text.size() < more) return replacement;
  std::uint32_t character = first & (0x3fu >> more);
  for (std::size_t i = 0; i < more; ++i) {
    const auto next = static_cast<unsigned char>(text[i]);
    if ((next & 0xc0) != 0x80) return replacement;
    character = character << 6 | (next & 0x3fu);
  }
  const bool overlong = (more == 2 && character < 0x800) || (more == 3 && character < 0x10000);
  text.remove_prefix(more);
  return overlong ? replacement : character;
}

/// As ZooKeeper's PathUtils, which looks at UTF-16: what is beyond U+FFFF is two surrogates there.
bool is_refused(std::uint32_t character) {
  return character < 0x20 || (character >= 0x7f && character <= 0x9f) || (character >= 0xd800 && character <= 0xf8ff) ||
         character >= 0xfff0;
}

std::string character_fault(std::string_view component) {
  while (!component.empty()) {
    const auto character = take_character(component);
    if (character == replacement) return "is not UTF-8, or contains U+FFFD; write it in UTF-8";
    if (is_refused(character)) {
      return fmt::format(
          "has the character U+{:04X}, which ZooKeeper refuses; use no control, private-use or emoji characters",
          character);
    }
  }
  return {};
}

std::string component_fault(std::string_view component) {
  if (component.empty()) return "has two slashes in a row; write one";
  if (component == "." || component == "..") {
    return fmt::format("has the component \"{}\"; write the full path without relative parts", component);
  }
  return character_fault(component);
}

}  // namespace

std::string path_fault(std::string_view path) {
  if (path.size() > most_path_bytes) {
    return fmt::format("is {} bytes long; use at most {}", path.size(), most_path_bytes);
  }
  if (path.empty()) return "is empty; write a full path such as \"/locks/nightly\"";
  if (path.front() != '/') return "does not begin with a slash; write one in front";
  if (path.size() == 1) return {};
  if (path.back() == '/') return "ends with a slash; remove it";
  for (auto rest = path; !rest.empty();) {
    rest.remove_prefix(1);  // the slash
    const auto component = rest.substr(0, rest.find('/'));
    if (auto fault = component_fault(component); !fault.empty()) return fault;
    rest.remove_prefix(component.size());
  }
  if (path == "/zookeeper" || path.starts_with("/zookeeper/")) {
    return "is reserved by ZooKeeper; begin it with another name than \"zookeeper\"";
  }
  return {};
}

void validate_path(std::string_view path) {
  const auto fault = path_fault(path);
  if (fault.empty()) return;
  const auto shown = path.size() > most_path_bytes ? fmt::format("{:.64}...", path) : std::string{path};
  throw error{errc::bad_path, "the path " + fault, shown};
}

void validate_lock_path(std::string_view path) {
  if (!path.empty() && path.find_first_not_of('/') == path.npos)
    throw error{errc::bad_path, "the root cannot be a lock; name a node below it, such as /locks/nightly",
                std::string{path}};
  validate_path(path);
}

std::string as_component(std::string_view bytes) {
  std::string result;
  const bool relative = bytes == "." || bytes == "..";
  while (!bytes.empty()) {
    const auto before = bytes;
    const auto character = take_character(bytes);
    const auto taken = before.substr(0, before.size() - bytes.size());
    if (relative || character == '/' || character == '%' || is_refused(character)) {
      for (const unsigned char byte : taken) fmt::format_to(std::back_inserter(result), "%{:02X}", byte);
    } else {
      result += taken;
    }
  }
  return result;
}

std::string join(std::string_view parent, std::string_view name) {
  if (name.starts_with('/')) name.remove_prefix(1);
  if (name.empty()) return std::string{parent};
  if (parent.ends_with('/')) parent.remove_suffix(1);
  return fmt::format("{}/{}", parent, name);
}

std::string_view parent_of(std::string_view path) {
  const auto slash = path.rfind('/');
  if (slash == std::string_view::npos || path.size() == 1) return {};
  return slash == 0 ? path.substr(0, 1) : path.substr(0, slash);
}

std::string_view last_component(std::string_view path) {
  const auto slash = path.rfind('/');
  return slash == std::string_view::npos ? path : path.substr(slash + 1);
}

std::vector<std::string> ancestors(std::string_view path) {
  std::vector<std::string> result;
  for (auto slash = path.find('/', 1); slash != std::string_view::npos; slash = path.find('/', slash + 1)) {
    result.emplace_back(path.substr(0, slash));
  }
  return result;
}

}  // namespace latchkey::detail
