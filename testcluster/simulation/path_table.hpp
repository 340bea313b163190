// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Paths as small numbers, so that the trees of several servers are cheap.

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

namespace latchkey::testing {

/// The root is 0.
using path_id = std::uint32_t;

class path_table {
 public:
  path_table() { add("/", 0, 1); }

  /// @pre valid(path)
  path_id intern(std::string_view path) {
    if (const auto known = find(path)) return *known;
    const auto slash = path.rfind('/');
    const auto parent = slash == 0 ? path_id{0} : intern(path.substr(0, slash));
    return add(path, parent, slash + 1);
  }

  std::optional<path_id> find(std::string_view path) const {
    const auto at = numbers_.find(path);
    if (at == numbers_.end()) return std::nullopt;
    return at->second;
  }

  std::size_t size() const noexcept { return entries_.size(); }
  const std::string& text(path_id path) const { return entries_[path].text; }
  path_id parent(path_id path) const { return entries_[path].parent; }
  std::string_view name(path_id path) const {
    return std::string_view{entries_[path].text}.substr(entries_[path].name_begins);
  }

  static bool valid(std::string_view path) noexcept {
    if (path == "/") return true;
    return path.starts_with('/') && !path.ends_with('/') && path.find("//") == path.npos &&
           path.find('\0') == path.npos;
  }

 private:
  struct entry {
    std::string text;
    path_id parent;
    std::size_t name_begins;
  };

  path_id add(std::string_view path, path_id parent, std::size_t name_begins) {
    const auto number = static_cast<path_id>(entries_.size());
    entries_.push_back({std::string{path}, parent, name_begins});
    numbers_.emplace(entries_.back().text, number);
    return number;
  }

  std::deque<entry> entries_;  // its texts do not move
  std::unordered_map<std::string_view, path_id> numbers_;
};

}  // namespace latchkey::testing
