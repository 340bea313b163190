// SPDX-License-Identifier: Apache-2.0
#pragma once

/// The guard of `latchkey run`, and what it guards, as the runner has them.

#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <optional>
#include <system_error>
#include <thread>
#include <utility>

#include "cgroup.hpp"
#include "channel.hpp"
#include "descriptor.hpp"
#include "guard.hpp"
#include "tree.hpp"

namespace command {

/// The two processes below this one, and all that come from them.
class guarded_tree {
 public:
  /// @pre this process has no threads
  explicit guarded_tree(const guarded_command& what) : contained_{what.contained} {
    std::array<int, 2> pair{};
    if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair.data()) != 0) throw failure("socketpair");
    guard_ = ::fork();
    if (guard_ == 0) {
      ::close(pair[0]);
      run_as_guard(pair[1], what);
    }
    const int why = errno;
    ::close(pair[1]);
    channel_ = descriptor{pair[0]};
    if (guard_ < 0) throw std::system_error{why, std::generic_category(), "fork"};
  }

  /// Without a guard nothing of the tree may go on.
  ~guarded_tree() { end(); }
  guarded_tree(const guarded_tree&) = delete;
  guarded_tree& operator=(const guarded_tree&) = delete;

  int channel() const noexcept { return channel_.number(); }
  bool tell(const packet& what) const noexcept { return send_packet(channel_.number(), what); }
  std::optional<packet> hear() const { return receive_packet(channel_.number()); }
  bool begun = false;       ///< the command may have been started: until then all other children are of others
  bool left_alone = false;  ///< what is left of it is nobody's business

  /// Kills all, the guard first. @returns when nothing is left.
  void end() {
    if (!begun || left_alone) return finish();
    if (std::exchange(over_, true)) return;
    ::kill(guard_, SIGKILL);
    while (!reap([](pid_t, int) {})) {
      if (contained_ != nullptr) contained_->kill();
      kill_below_me();
      std::this_thread::sleep_for(std::chrono::milliseconds{1});
    }
  }
  /// Nothing is left, or is to be ended, but the guard.
  void finish() {
    if (std::exchange(over_, true)) return;
    ::kill(guard_, SIGKILL);  // it may be stopped
    while (::waitpid(guard_, nullptr, 0) < 0 && errno == EINTR) {
    }
  }

 private:
  descriptor channel_{-1};
  pid_t guard_ = -1;
  const cgroup* contained_;
  bool over_ = false;
};

}  // namespace command
