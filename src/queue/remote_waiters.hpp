// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Whether anybody else waits for a place that is held.

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "base/node_name.hpp"
#include "session/client_core.hpp"

namespace latchkey::detail {

/// One watch on the children of a lock path, of a holder and of it alone: no herd. It costs one list, and one more each
/// time the queue changes without anybody waiting for the holder. With the monitor held.
class remote_waiters : public std::enable_shared_from_this<remote_waiters> {
 public:
  enum class answer {
    unknown,  ///< not asked
    asked,
    nobody,   ///< and whoever comes will be noticed
    waiting,  ///< somebody whom the holder keeps waiting
    gone,     ///< the holder's own node is not there any more
  };

  /// @param path absolute path of the lock
  /// @param mine what the holder is
  /// @param is_ours tells the nodes of the holder from those of others, by their absolute paths
  /// @param on_answer runs when the answer has become another one, but for `unknown` and `asked`
  remote_waiters(client_core& core, std::string path, contender_kind mine,
                 std::function<bool(std::string_view)> is_ours, std::function<void()> on_answer);

  /// Begins to watch, unless that has begun. Nothing happens without a connection.
  void watch();

  /// Ends the watch, forgets the answer.
  void stop();

  answer known() const noexcept { return known_; }

 private:
  void ask();
  void on_listed(const reply& listed);
  answer judge(const reply& listed) const;

  client_core& core_;
  const std::string path_;
  const contender_kind mine_;
  const std::function<bool(std::string_view)> is_ours_;
  const std::function<void()> on_answer_;
  answer known_ = answer::unknown;
  std::uint64_t step_ = 0;  // answers to an earlier step are stale
  watch_id watch_;
};

}  // namespace latchkey::detail
