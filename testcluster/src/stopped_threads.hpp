// SPDX-License-Identifier: Apache-2.0
#pragma once
// Some threads of another process, stopped while all others go on.

#include <sys/types.h>

#include <string_view>
#include <thread>

namespace latchkey::testing::detail {

/// Stops threads from construction to destruction, by ptrace. A descendant may be traced without privileges.
///
/// The kernel takes the requests of the tracing thread only, so each object has a thread of its own. The traced process
/// may be killed meanwhile. It must not be stopped with SIGSTOP: that would wait for the traced threads.
class stopped_threads {
 public:
  /// Blocks until they have stopped. @param name  how their names begin, as the kernel has them (15 bytes)
  /// @throws cluster_error  there is no such thread, or one may not be traced
  stopped_threads(pid_t process, std::string_view name);

 private:
  std::jthread tracer_;
};

}  // namespace latchkey::testing::detail
