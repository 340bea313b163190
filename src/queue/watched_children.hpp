// SPDX-License-Identifier: Apache-2.0
#pragma once

/// The children of one path, and when they change.

#include <functional>
#include <string>
#include <utility>

#include "session/conversation.hpp"

namespace latchkey::detail {

/// Lists a path, with or without a watch for the next change.
class watched_children : public conversation<watched_children> {
 public:
  /// @param path absolute
  /// @param on_listed runs with the answer to the last list, whatever that is
  /// @param on_changed runs when the watch of the last list fires
  watched_children(client_core& core, std::string path, std::function<void(const reply&)> on_listed,
                   std::function<void()> on_changed)
      : conversation{core},
        path_{std::move(path)},
        on_listed_{std::move(on_listed)},
        on_changed_{std::move(on_changed)} {}

  /// Lists it now; forgets earlier lists. Does nothing without a connection.
  void list(bool watching);

  /// Forgets what it has asked for.
  void stop();

  const std::string& path() const noexcept { return path_; }
  /// @returns whether an answer is still to come.
  bool asked() const noexcept { return asked_; }
  /// @returns whether the next change will be told.
  bool watching() const noexcept { return watching_; }

 private:
  const std::string path_;
  const std::function<void(const reply&)> on_listed_;
  const std::function<void()> on_changed_;
  bool asked_ = false;
  bool watching_ = false;
};

}  // namespace latchkey::detail
