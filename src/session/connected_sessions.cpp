// SPDX-License-Identifier: Apache-2.0
#include "session/connected_sessions.hpp"

#include <pthread.h>

#include <mutex>
#include <utility>

namespace latchkey::detail {

connected_session* connected_session::newest_ = nullptr;

/// Never destroyed: static clients may end later. A forked child has none of these sessions, and finds it unlocked.
struct connected_session::list {
  std::mutex mutex;

  static list& all() {
    static auto& instance = *new list;
    [[maybe_unused]] static const int registered =
        ::pthread_atfork([] { instance.mutex.lock(); }, [] { instance.mutex.unlock(); },
                         [] {
                           newest_ = nullptr;
                           instance.mutex.unlock();
                         });
    return instance;
  }
};

bool is_connected_here(std::int64_t session) {
  const std::lock_guard lock{connected_session::list::all().mutex};
  const auto* each = connected_session::newest_;
  while (each != nullptr && each->session_ != session) each = each->next_;
  return each != nullptr && session != 0;
}

connected_session::connected_session() {
  const std::lock_guard lock{list::all().mutex};
  next_ = std::exchange(newest_, this);
}

connected_session::~connected_session() {
  const std::lock_guard lock{list::all().mutex};
  auto** at = &newest_;
  while (*at != nullptr && *at != this) at = &(*at)->next_;
  if (*at != nullptr) *at = next_;  // it is not there in a forked child
}

void connected_session::set(std::int64_t session) {
  const std::lock_guard lock{list::all().mutex};
  session_ = session;
}

}  // namespace latchkey::detail
