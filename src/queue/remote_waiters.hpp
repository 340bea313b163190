// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Whether remote contenders wait for an entry that is held.

#include <functional>
#include <string>
#include <string_view>

#include "queue/rule.hpp"
#include "session/conversation.hpp"

namespace latchkey::detail {

/// One watch on the children of a lock path. Only the holder sets it, so there is no herd. It costs one list, and one
/// more each time the queue changes while no contender waits for the holder.
class remote_waiters : public conversation<remote_waiters> {
 public:
  enum class answer {
    unknown,  ///< not asked
    asked,
    none,     ///< no contender waits; one that comes will be noticed
    waiting,  ///< a contender waits for the holder
    gone,     ///< the holder's own node is not there any more
  };

  /// @param path absolute path of the lock
  /// @param mine the kind of the holder
  /// @param is_ours tells the nodes of the holder from those of others, by their absolute paths
  /// @param on_answer runs when the answer changes, except to `unknown` and `asked`
  remote_waiters(client_core& core, std::string path, const rule& mine, std::function<bool(std::string_view)> is_ours,
                 std::function<void()> on_answer);

  /// Begins to watch, unless it watches already. Does nothing without a connection.
  void watch();

  /// Ends the watch and forgets the answer.
  void stop();

  answer known() const noexcept { return known_; }

 private:
  void look();
  void on_listed(const reply& listed);
  answer judge(const reply& listed) const;

  const std::string path_;
  const rule& mine_;
  const std::function<bool(std::string_view)> is_ours_;
  const std::function<void()> on_answer_;
  answer known_ = answer::unknown;
};

}  // namespace latchkey::detail
