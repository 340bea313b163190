// SPDX-License-Identifier: Apache-2.0
#pragma once

/// TLS, where the C client was built with it (Debian's was not: HAZARDS 21).

#include <string>

#include <zookeeper/zookeeper.h>

namespace latchkey::detail {

/// @throws error unsupported when this C client has no TLS, bad_option when `tls` is not
/// "ca,certificate,key[,password]"
void validate_tls(const std::string& tls);

/// As zookeeper_init2, over TLS. @pre validate_tls(tls)
zhandle_t* open_with_tls(const std::string& servers, const std::string& tls, watcher_fn watcher, int timeout,
                         void* context, int flags) noexcept;

}  // namespace latchkey::detail
