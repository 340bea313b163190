// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Deletes that must happen.

#include <cstdint>
#include <map>
#include <string>

#include "session/session.hpp"

namespace latchkey::detail {

/// A node that nobody wants any more is handed to the reaper: it is deleted now or after the next reconnect, until the
/// ensemble has said that it is gone or its session is over. With the strand held.
class reaper {
 public:
  explicit reaper(session& through) : session_{through} {}

  /// Deletes the node at `path`.
  void remove(std::string path);

  /// Deletes the child of `parent` whose name begins with `prefix`, if the create whose reply was lost has made one.
  void remove_unknown(std::string parent, std::string prefix);

  bool idle() const noexcept { return obligations_.empty(); }

  void on_connected();
  /// The ensemble has deleted the nodes of the session together with it.
  void on_session_over() { obligations_.clear(); }

 private:
  struct obligation {
    std::string path;    // of the node, or of its parent
    std::string prefix;  // of its name when that is not known
    bool in_flight = false;
  };

  void add(obligation what);
  void discharge(std::uint64_t id);
  void remove_now(std::uint64_t id, obligation& what);
  void look_now(std::uint64_t id, obligation& what);
  void on_removed(std::uint64_t id, reply_code code);
  void on_listed(std::uint64_t id, const reply& listed);

  session& session_;
  std::map<std::uint64_t, obligation> obligations_;  // in the order they arose
  std::uint64_t last_ = 0;
};

}  // namespace latchkey::detail
