// SPDX-License-Identifier: Apache-2.0
#include <latchkey/find_locks.hpp>

#include <algorithm>
#include <map>
#include <span>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "base/path.hpp"
#include "queue/inquiry.hpp"
#include "recipes/rules.hpp"

namespace latchkey {
namespace {

/// Nodes whose lists have been asked for together: those of one level.
struct level {
  std::vector<std::string> paths;  // below the chroot
  std::vector<std::vector<std::string>> children;
};

struct count {
  std::size_t permits = 0;
  std::size_t turns = 0;   // contenders that a semaphore has in its folder for those who wait
  std::size_t others = 0;  // contenders that it has not

  std::size_t all() const noexcept { return permits + turns + others; }
};

/// @param name of the folder: permits are in that of a semaphore only
count contenders(std::string_view folder, const std::vector<std::string>& children) {
  count found;
  for (const auto& name : children) {
    const auto place = detail::parse_contender(name);
    if (!place) continue;
    if (place->kind == detail::contender_kind::permit) {
      if (folder == detail::permit_leases) ++found.permits;
    } else if (place->kind == detail::contender_kind::lock) {
      ++found.turns;
    } else {
      ++found.others;
    }
  }
  return found;
}

class search {
 public:
  search(detail::client_core& core, find_options limits, detail::duration timeout)
      : core_{core}, limits_{std::move(limits)}, end_{detail::deadline_after(core.monitor().now(), timeout)} {}

  std::vector<found_lock> below(const std::string& root) {
    root_ = root;
    std::vector<std::string> next{root};
    for (std::size_t depth = 0; depth <= limits_.deepest && !next.empty(); ++depth) {
      const auto listed = list(std::move(next), depth == 0);
      next = add(listed);
    }
    return result();
  }

 private:
  level list(std::vector<std::string> paths, bool first) {
    listed_ += paths.size();
    if (listed_ > limits_.most_nodes) {
      throw error{errc::too_large,
                  fmt::format("there are more than {} nodes to list; begin further below, or raise "
                              "find_options::most_nodes",
                              limits_.most_nodes),
                  root_};
    }
    std::vector<detail::request> requests;
    // What was committed before the call is shown.
    if (first) requests.push_back(detail::barrier(core_.absolute(paths.front())));
    for (const auto& path : paths)
      requests.push_back({.kind = detail::operation::children, .path = core_.absolute(path)});
    auto answers = detail::inquire(core_, root_, std::move(requests), detail::time_until(end_, core_.monitor().now()),
                                   limits_.on_denied ? detail::if_missing::tell_denied : detail::if_missing::tell);
    level result{.paths = std::move(paths), .children = {}};
    const auto lists = std::span{answers}.last(result.paths.size());
    for (std::size_t i = 0; i < lists.size(); ++i) {
      if (lists[i].code == detail::reply_code::no_permission) limits_.on_denied(result.paths[i]);
      result.children.push_back(std::move(lists[i].children));
    }
    return result;
  }

  /// Notes the contenders of these nodes. @returns their children that are none.
  std::vector<std::string> add(const level& nodes) {
    std::vector<std::string> next;
    for (std::size_t i = 0; i < nodes.paths.size(); ++i) {
      const auto& path = nodes.paths[i];
      const auto folder = detail::last_component(path);
      const auto found = contenders(folder, nodes.children[i]);
      if (found.all() > 0 || folder == detail::permit_leases) found_[path] = found;
      for (const auto& name : nodes.children[i]) {
        if (detail::parse_contender(name)) continue;
        auto child = detail::join(path, name);
        if (detail::path_fault(core_.absolute(child)).empty()) next.push_back(std::move(child));
      }
    }
    return next;
  }

  /// @returns whether a node with this name, and these contenders, is a folder of a semaphore: there is one for permits,
  /// and it has no other contenders. Else they are locks that happen to have these names.
  bool is_folder(const std::string& path, const count& found) const {
    const auto name = detail::last_component(path);
    if (path == root_ || (name != detail::permit_leases && name != detail::permit_turns)) return false;
    if (name == detail::permit_turns && found.others > 0) return false;
    const auto leases = found_.find(detail::join(detail::parent_of(path), detail::permit_leases));
    return leases != found_.end() && leases->second.permits == leases->second.all();
  }

  std::vector<found_lock> result() const {
    std::map<std::string, found_lock> all;
    for (const auto& [path, found] : found_) {
      if (found.all() == 0) continue;
      const bool folder = is_folder(path, found);
      const auto owner = folder ? std::string{detail::parent_of(path)} : path;
      auto& lock = all[owner];
      lock.path = owner;
      lock.contenders += found.all();
      lock.semaphore = lock.semaphore || folder;
    }
    std::vector<found_lock> sorted;
    for (auto& each : all) sorted.push_back(std::move(each.second));
    return sorted;
  }

  detail::client_core& core_;
  const find_options limits_;
  const detail::time_point end_;
  std::string root_;
  std::size_t listed_ = 0;
  std::map<std::string, count> found_;
};

}  // namespace

std::vector<found_lock> find_locks(client& through, const std::string& root, find_options limits,
                                   saturating<std::chrono::nanoseconds> timeout) {
  detail::validate_path(root);
  return search{*through.core(), std::move(limits), detail::time_to_answer(timeout)}.below(root);
}

}  // namespace latchkey
