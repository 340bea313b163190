// SPDX-License-Identifier: Apache-2.0
/// What a client records of its sessions, and the end of those that it has found recorded.

#include "base/log.hpp"
#include "session/client_core.hpp"

namespace latchkey::detail {

/// Before anything can be held in it.
void client_core::record_session() {
  if (!records_) return;
  const auto& info = session_.info();
  records_->add({info.id, info.password, info.timeout, hosts_});
}

void client_core::record_end() {
  if (records_) records_->end(session_.info().id);
}

void client_core::end_left_session(const recorded_session& left, const connector_source& to_others) {
  const auto by = records_->left_by();
  auto own = left.servers != hosts_ && to_others ? to_others(left.servers) : nullptr;
  auto ending = std::make_unique<session_ending>(
      *monitor_, own ? *own : *connector_, left, [this, id = left.id, by](session_ending::outcome how) {
        if (!records_ || closing_) return;
        records_->end(id);
        if (how == session_ending::outcome::expired) return;
        const bool ended = how == session_ending::outcome::ended;
        log(ended ? log_level::info : log_level::warning,
            ended ? "the session of an earlier run was ended"
                  : "the session of an earlier run could not be ended; its locks are free by now, or soon",
            {{"pid", by}, {"session", session_name(id)}});
      });
  left_.push_back({std::move(ending), std::move(own)});
  left_.back().ending->begin();
}

void client_core::abandon() {
  records_.reset();
  close([] {});
  if (close_timer_) close_session();
}

}  // namespace latchkey::detail
