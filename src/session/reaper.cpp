// SPDX-License-Identifier: Apache-2.0
#include "session/reaper.hpp"

#include <utility>

#include <fmt/format.h>

#include "base/log.hpp"
#include "base/path.hpp"

namespace latchkey::detail {

void reaper::remove(std::string path) { add({std::move(path), {}}); }

void reaper::remove_unknown(std::string parent, std::string prefix) { add({std::move(parent), std::move(prefix)}); }

void reaper::add(obligation what) {
  const auto id = ++last_;
  obligations_.emplace(id, std::move(what));
  discharge(id);
}

void reaper::on_connected() {
  for (auto& [id, what] : obligations_) discharge(id);
}

void reaper::discharge(std::uint64_t id) {
  auto& what = obligations_.at(id);
  if (what.in_flight || !session_.connected()) return;
  what.in_flight = true;
  if (what.prefix.empty()) {
    remove_now(id, what);
  } else {
    look_now(id, what);
  }
}

void reaper::remove_now(std::uint64_t id, obligation& what) {
  session_.submit({.kind = operation::remove, .path = what.path},
                  [this, id](const reply& removed) { on_removed(id, removed.code); });
}

/// A create whose reply was lost may still be on its way to the leader: only after a sync does a list tell.
void reaper::look_now(std::uint64_t id, obligation& what) {
  session_.submit({.kind = operation::sync, .path = what.path}, [](const reply&) {});
  session_.submit({.kind = operation::children, .path = what.path},
                  [this, id](const reply& listed) { on_listed(id, listed); });
}

void reaper::on_removed(std::uint64_t id, reply_code code) {
  const auto at = obligations_.find(id);
  if (at == obligations_.end()) return;
  at->second.in_flight = false;
  switch (code) {
    case reply_code::unknown_outcome:
    case reply_code::not_sent:
      return discharge(id);  // now, when the connection is there again; otherwise when it is back
    case reply_code::ok:
    case reply_code::no_node:
    case reply_code::session_over:
      break;
    default:
      log(log_level::error,
          fmt::format("{}: the ensemble refuses to delete this node of ours (reply {}): it stays until "
                      "the session ends; does the ACL of its parent give us the permission 'd'?",
                      at->second.path, static_cast<int>(code)));
  }
  obligations_.erase(at);
}

void reaper::on_listed(std::uint64_t id, const reply& listed) {
  const auto at = obligations_.find(id);
  if (at == obligations_.end()) return;
  auto& what = at->second;
  if (listed.code == reply_code::ok) {
    for (const auto& name : listed.children) {
      if (!name.starts_with(what.prefix)) continue;
      what.path = join(what.path, name);
      what.prefix.clear();
      return remove_now(id, what);
    }
  }
  on_removed(id, listed.code);
}

}  // namespace latchkey::detail
