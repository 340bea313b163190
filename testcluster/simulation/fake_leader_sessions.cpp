// SPDX-License-Identifier: Apache-2.0
// The sessions, as their leader knows them.
#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "simulation/fake_leader.hpp"

namespace latchkey::testing {

ensemble_session& fake_leader::open_session(duration timeout) {
  auto& session = *sessions_.emplace_back(std::make_unique<ensemble_session>());
  session.id = first_session + static_cast<std::int64_t>(sessions_.size()) - 1;
  session.timeout = timeout;
  session.expires = time_.now() + timeout;
  commit opened;
  opened.kind = commit_kind::session_opened;
  opened.session = session.id;
  append(std::move(opened));
  await_expiry(session, time_.random().between({}, plan_.expires_late));
  return session;
}

void fake_leader::await_expiry(ensemble_session& session, duration late) {
  const auto due = std::max(session.expires + late, unavailable_until_ + duration{1});
  time_.at(due, [this, &session] {
    if (session.over) return;
    const auto later = time_.random().between({}, plan_.expires_late);
    if (available() && session.expires <= time_.now()) return end_session(session);
    await_expiry(session, later);
  });
}

void fake_leader::touch(ensemble_session& session, duration timeout) {
  const auto before = std::exchange(session.expires, time_.now() + timeout);
  if (session.expires < before) await_expiry(session, {});
}

void fake_leader::shorten(ensemble_session& session, time_point expires) {
  if (expires >= session.expires) return;
  session.expires = expires;
  await_expiry(session, {});
}

void fake_leader::end_session(ensemble_session& session) {
  if (session.over) return;
  session.over = true;
  session.late.clear();
  commit over;
  over.kind = commit_kind::session_over;
  over.session = session.id;
  over.gone = std::exchange(session.ephemerals, {});
  append(std::move(over));
}

void fake_leader::lose_data() {
  for (const auto& each : sessions_) end_session(*each);
  std::vector<std::string> paths;
  for (path_id each = 0; each < paths_.size(); ++each) {
    if (tree_.find(each) && paths_.text(each) != "/") paths.emplace_back(paths_.text(each));
  }
  std::sort(paths.begin(), paths.end(), [](const auto& a, const auto& b) { return a.size() > b.size(); });
  for (const auto& each : paths) remove(0, each);
  zxid_ = std::int64_t{1} << 32;
  refuse(0, detail::reply_code::no_node);  // a transaction of the new history
}

}  // namespace latchkey::testing
