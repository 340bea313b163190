// SPDX-License-Identifier: Apache-2.0
#include "base/secrets.hpp"

#include <string.h>

namespace latchkey::detail {

void wipe(std::string& text) noexcept {
  text.resize(text.capacity());  // what a former, longer value has left there too
  ::explicit_bzero(text.data(), text.size());
  text.clear();
}

void wipe(std::vector<credentials>& all) noexcept {
  for (auto& each : all) {
    wipe(each.scheme);
    wipe(each.data);
  }
  all.clear();
}

secrets::secrets(std::vector<credentials>& authentication, std::string& tls)
    : authentication_{std::move(authentication)}, tls_{std::move(tls)} {
  wipe(authentication);
  wipe(tls);  // a short one has been copied
}

void secrets::forget() noexcept {
  const std::lock_guard lock{mutex_};
  wipe(authentication_);
  wipe(tls_);
}

}  // namespace latchkey::detail
