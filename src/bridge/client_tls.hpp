// SPDX-License-Identifier: Apache-2.0
#pragma once

/// TLS, where the C client was built with it (Debian's was not: HAZARDS 21).

#include <algorithm>
#include <string>

#include <zookeeper/zookeeper.h>

namespace latchkey::detail {

/// @throws error unsupported when this C client has no TLS, bad_option when `tls` is not
/// "ca,certificate,key[,password]"
void validate_tls(const std::string& tls);

/// @returns what to append to a `tls` without a password: one that a key without a password ignores. Without it newer C
/// clients leave the certificate out, and older ones ask on the terminal for that of a key that has one (HAZARDS 25).
inline std::string missing_password(const std::string& tls) {
  return std::count(tls.begin(), tls.end(), ',') == 2 ? ",none" : "";
}

/// As zookeeper_init2, over TLS. @pre validate_tls(tls)
zhandle_t* open_with_tls(const std::string& servers, const std::string& tls, watcher_fn watcher, int timeout,
                         const clientid_t* whose, void* context, int flags, log_callback_fn log) noexcept;

}  // namespace latchkey::detail
