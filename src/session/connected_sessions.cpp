// SPDX-License-Identifier: Apache-2.0
#include "session/connected_sessions.hpp"

#include <pthread.h>

#include <mutex>
#include <unordered_set>
#include <utility>

namespace latchkey::detail {
namespace {

struct table {
  std::mutex mutex;
  std::unordered_set<std::int64_t> sessions;
};

table& all();

/// Never destroyed: static clients may end later. A forked child has none of these sessions, and finds it unlocked.
table& make_table() {
  const auto begin_anew = [] {
    all().sessions.clear();
    all().mutex.unlock();
  };
  ::pthread_atfork([] { all().mutex.lock(); }, [] { all().mutex.unlock(); }, begin_anew);
  return *new table;
}

table& all() {
  static auto& instance = make_table();
  return instance;
}

}  // namespace

bool is_connected_here(std::int64_t session) {
  const std::lock_guard lock{all().mutex};
  return all().sessions.contains(session);
}

void connected_session::set(std::int64_t session) {
  const auto former = std::exchange(session_, session);
  if (former == session) return;
  const std::lock_guard lock{all().mutex};
  all().sessions.erase(former);
  if (session != 0) all().sessions.insert(session);
}

}  // namespace latchkey::detail
