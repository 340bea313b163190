// SPDX-License-Identifier: Apache-2.0
#pragma once

/// The callback of a view, which is told what the view has seen.

#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "base/log.hpp"
#include "session/client_core.hpp"

namespace latchkey::detail {

/// The event thread may use it when its view has gone: it is kept by a shared pointer.
template <class Sighting>
class audience : public std::enable_shared_from_this<audience<Sighting>> {
 public:
  /// @param name "the callback of a leader_view"; a literal
  audience(const char* name, std::string path, std::function<void(const Sighting&)> changed)
      : name_{name}, path_{std::move(path)}, changed_{std::move(changed)} {}

  /// With the monitor. Calls it later, on the event thread, unless it has left by then.
  void tell(client_core& core, const Sighting& seen) {
    if (!changed_) return;
    const auto call = [self = this->shared_from_this(), seen] {
      const std::lock_guard lock{self->calling_};
      if (self->left_) return;
      call_user([&] { self->changed_(seen); }, [&](const char* thrown) { self->blame(thrown); });
    };
    core.post(call, name_, when_abandoned::drop);
  }

  /// Without the monitor. Waits for a call on another thread.
  void leave() {
    const std::lock_guard lock{calling_};
    left_ = true;
  }

 private:
  void blame(const char* thrown) const noexcept {
    log(log_level::error, fmt::format("{} threw an exception, which ends the process; catch it in the callback", name_),
        {{"path", path_}, {"exception", thrown}});
  }

  const char* const name_;
  const std::string path_;
  const std::function<void(const Sighting&)> changed_;
  std::recursive_mutex calling_;
  bool left_ = false;  // with `calling_`
};

}  // namespace latchkey::detail
