// SPDX-License-Identifier: Apache-2.0
#include <latchkey/error.hpp>

#include "base/escape.hpp"

namespace latchkey {
namespace {

class category final : public std::error_category {
 public:
  const char* name() const noexcept override { return "latchkey"; }

  std::string message(int code) const override {
    switch (static_cast<errc>(code)) {
      case errc::closed:
        return "the client is closed";
      case errc::lock_destroyed:
        return "the lock object is destroyed";
      case errc::bad_connect_string:
        return "bad connect string";
      case errc::bad_path:
        return "bad path";
      case errc::bad_option:
        return "bad option";
      case errc::unresolvable_host:
        return "no host resolves";
      case errc::session_timeout_refused:
        return "session timeout refused";
      case errc::authentication_failed:
        return "authentication failed";
      case errc::not_authorized:
        return "not authorized";
      case errc::parent_is_ephemeral:
        return "a parent is ephemeral";
      case errc::queue_exhausted:
        return "the queue's sequence numbers are used up";
      case errc::lock_lost:
        return "the lock is lost";
      case errc::place_lost:
        return "the place in line is lost";
      case errc::unreachable:
        return "the ensemble has not answered in time";
      case errc::unsupported:
        return "unsupported";
      case errc::refused:
        return "refused by the ensemble";
      case errc::too_large:
        return "too large";
      case errc::contract_mismatch:
        return "the users of the path do not agree";
      case errc::data_lost:
        return "the ensemble has lost data";
      case errc::session_file_in_use:
        return "session file in use";
    }
    return "unknown error";
  }
};

}  // namespace

const std::error_category& latchkey_category() noexcept {
  static const auto& instance = *new category;  // never destroyed: calls may fail while static objects go
  return instance;
}

std::error_code make_error_code(errc code) noexcept { return {static_cast<int>(code), latchkey_category()}; }

error::error(errc code, const std::string& what, std::string path)
    : std::system_error{make_error_code(code), path.empty() ? what : detail::escaped(path) + ": " + what},
      path_{std::move(path)} {}

}  // namespace latchkey
