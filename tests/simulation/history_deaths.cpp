// SPDX-License-Identifier: Apache-2.0
// Of a history: what becomes of robust locks.
#include <map>
#include <string>

#include "base/path.hpp"
#include "recipes/robust/robust_record.hpp"
#include "simulation/history.hpp"

namespace latchkey::testing {

/// What the ensemble has taken. An owner that does not go in order may change its record once more, as it leaves.
void history::collect_deaths() {
  using enum robust_record_change::change;
  for (unsigned lock = 0; lock < plan_.locks.size(); ++lock) {
    if (plan_.locks[lock].robust == 0) continue;
    std::map<std::string, fencing_token> owners;  // by their nodes
    std::string holder;
    const auto record = lock_path(lock) + '/' + std::string{detail::name_of_record};
    const auto add = [&](robust_record_change::change what, fencing_token owner) {
      log_.robust.push_back({what, lock, owner});
    };
    const auto on_gone = [&](std::string_view path, bool by_owner) {
      const auto at = owners.find(std::string{path});
      if (at != owners.end()) add(by_owner ? left : died, at->second);
    };
    for (const auto& what : ensemble_.log()) {
      const auto path = ensemble_.path(what);
      if (what.kind == commit_kind::session_over) {
        for (const auto gone : what.gone) on_gone(ensemble_.paths().text(gone), false);
      } else if (what.kind == commit_kind::removed && path == record) {
        if (what.session == 0) add(forgotten, {});
      } else if (what.kind == commit_kind::removed) {
        on_gone(path, what.session != 0);
      } else if (path == record && what.session == 0) {
        add(overwritten, {});
      } else if (path == record) {
        const auto written = detail::read_robust_record(what.data);
        if (!written.held) continue;
        owners[lock_path(lock) + '/' + written.node] = written.owner.fence;
        add(what.continues ? restored : named, written.owner.fence);
      }
    }
  }
}

}  // namespace latchkey::testing
