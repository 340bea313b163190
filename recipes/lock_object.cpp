// SPDX-License-Identifier: Apache-2.0
#include "recipes/lock_object.hpp"

#include <fmt/format.h>

#include "base/log.hpp"

namespace latchkey::detail {

void log_wrong_unlock(const std::string& path, const char* call, bool abandoned) {
  const auto* const advice =
      abandoned
          ? "the one that has is at its end, so only the destructor of the lock object releases the lock now; take "
            "it with acquire()"
          : "unlock it on the one that has, or take it with acquire()";
  log(log_level::error,
      fmt::format("{} was called by a {} that has not locked it, and was ignored; {}, whose guard any thread may "
                  "release",
                  call, kind_of_caller(), advice),
      {{"path", path}});
}

void require_peers(client_core& core, hand_off how, const std::string& path) {
  if (how == hand_off::ensemble || core.peers() != nullptr) return;
  throw error{errc::bad_option, "the option how asks for a direct hand-off; set client_options::peers, too", path};
}

}  // namespace latchkey::detail
