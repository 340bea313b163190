// SPDX-License-Identifier: Apache-2.0
#include "queue/long_wait.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "base/log.hpp"
#include "base/path.hpp"
#include "queue/admission.hpp"
#include "queue/record.hpp"

namespace latchkey::detail {
namespace {

/// @returns the name of the first contender that others of kind `mine` wait for; empty if there is none.
std::string first_rival(const std::vector<std::string>& children, const rule& mine) {
  rank first;
  for (const auto& name : children) {
    const auto found = rival_of(mine, name);
    if (!found) continue;
    const rank here{found->number, name};
    if (first.name.empty() || here < first) first = here;
  }
  return std::string{first.name};
}

/// What others say may be long.
std::string_view cut(std::string_view text) { return text.substr(0, 512); }

}  // namespace

void report_long_wait(client_core& core, const std::string& path, const rule& kind, duration waited,
                      std::size_t calls) {
  auto& session = core.session();
  if (!session.connected()) return;
  const auto absolute = core.absolute(path);
  session.submit({.kind = operation::children, .path = absolute}, [&session, &kind, absolute, path, waited,
                                                                   calls](const reply& listed) {
    const auto holder = first_rival(listed.children, kind);
    if (holder.empty() || !session.connected()) return;
    session.submit({.kind = operation::get, .path = join(absolute, holder)}, [=](const reply& read) {
      if (read.code != reply_code::ok) return;
      const auto owner = read_owner(read.data);
      log(log_level::info, calls == 1 ? "a call waits long for the lock" : "calls wait long for the lock",
          {{"path", path},
           {"waited_ms", waited},
           {"waiting_calls", calls},
           {"holder", holder},
           {"holder_label", cut(owner.label)},
           {"holder_host", cut(owner.host)},
           {"holder_pid", owner.pid == 0 ? std::string{} : fmt::to_string(owner.pid)},
           {"holder_data", owner.label.empty() ? cut(read.data) : std::string_view{}},
           {"holder_session", session_name(read.stat.ephemeral_owner)}});
    });
  });
}

}  // namespace latchkey::detail
