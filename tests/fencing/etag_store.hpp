// SPDX-License-Identifier: Apache-2.0
#pragma once

/// An object store in memory, with ETags and If-Match.

#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <utility>

#include "../../examples/fencing/object_fence.hpp"

namespace latchkey::testing {

/// Thread-safe, but for `before_put`.
class etag_store {
 public:
  std::function<void()> before_put;  ///< runs once, between the read and the write of a client

  fencing::object get(const std::string& key) {
    const std::lock_guard lock{mutex_};
    return objects_[key];
  }

  /// With If-Match or If-None-Match. @returns whether the ETag was still the same.
  bool put(const std::string& key, const fencing::object& what) {
    if (const auto first = std::exchange(before_put, nullptr)) first();
    const std::lock_guard lock{mutex_};
    if (objects_[key].etag != what.etag) return false;
    store(key, what);
    return true;
  }

  /// With no condition: the last write wins.
  void put_always(const std::string& key, const fencing::object& what) {
    if (const auto first = std::exchange(before_put, nullptr)) first();
    const std::lock_guard lock{mutex_};
    store(key, what);
  }

 private:
  void store(const std::string& key, fencing::object what) {
    what.etag = std::to_string(++writes_);
    objects_[key] = std::move(what);
  }

  std::mutex mutex_;
  std::map<std::string, fencing::object> objects_;
  int writes_ = 0;
};

}  // namespace latchkey::testing
