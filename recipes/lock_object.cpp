// SPDX-License-Identifier: Apache-2.0
#include "recipes/lock_object.hpp"

#include <atomic>

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

void log_guard_left(const std::string& path) {
  log(log_level::warning,
      "a lock object was destroyed while a guard of it held the lock, which is released; let it outlive its guards",
      {{"path", path}});
}

void require_peers(client_core& core, hand_off how, const std::string& path) {
  if (how == hand_off::ensemble || core.peers() != nullptr) return;
  throw error{errc::bad_option, "the option how asks for a direct hand-off; set client_options::peers, too", path};
}

std::uint64_t new_holder() noexcept {
  static std::atomic<std::uint64_t> last{0};
  return ++last | (std::uint64_t{1} << 63);
}

}  // namespace latchkey::detail
