// SPDX-License-Identifier: Apache-2.0
#pragma once

/// The watches of a session.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <unordered_map>
#include <vector>

#include "bridge/znodes.hpp"

namespace latchkey::detail {

/// Names a watch for `session::forget`. A default-constructed one names none.
struct watch_id {
  std::string path;
  std::uint64_t number = 0;
};

/// Who is told of which change. Each is told once at most.
class watch_table {
 public:
  using callback = std::function<void(watch_event)>;

  /// One that is about to be asked for. @param of_children of the path, rather than its data
  watch_id add(const std::string& path, bool of_children, callback on_watch);
  /// The answer to the request is there: from now on an event is meant for this watch.
  void arm(const watch_id& watch);
  /// The request has failed: the C client has no such watch.
  void erase(const watch_id& watch);
  /// The callback will not run any more. The watch itself stays with the C client until its node changes: removing one
  /// is broken there.
  void forget(watch_id& watch);
  /// Runs the callbacks, which may call this object.
  void on_event(watch_event event, const std::string& path);
  /// They have ended with the session.
  void clear();

  /// @returns the paths of the watches that are not forgotten.
  std::vector<std::string> paths() const;
  bool contains(const std::string& path) const { return watched_.contains(path); }
  /// @returns the length of the list that is sent at each connection: of all paths, those of forgotten watches included.
  std::size_t bytes() const noexcept { return bytes_; }
  /// @returns what a path adds to it.
  static std::size_t bytes_of(const std::string& path) noexcept { return path.size() + 4; }

 private:
  struct watcher {
    std::uint64_t number;
    bool of_children;
    callback on_watch;   // empty: forgotten, and the C client may have it
    bool armed = false;  // an event that comes before the answer to our own request speaks of a time before it
  };
  using by_path = std::unordered_map<std::string, std::vector<watcher>>;

  /// One that is forgotten serves no purpose beside another: the C client has one of each kind.
  static void merge_forgotten(std::vector<watcher>& watchers);
  void erase_path(by_path::iterator path);

  by_path watched_;
  std::size_t bytes_ = 0;
  std::uint64_t last_ = 0;
};

}  // namespace latchkey::detail
