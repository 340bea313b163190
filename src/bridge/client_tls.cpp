// SPDX-License-Identifier: Apache-2.0
#include "bridge/client_tls.hpp"

#include <algorithm>
#include <cerrno>
#include <mutex>

#include <latchkey/error.hpp>

#ifdef LATCHKEY_HAVE_ZOOKEEPER_TLS
// zookeeper.h declares it only under HAVE_OPENSSL_H, and then wants OpenSSL's headers.
extern "C" zhandle_t* zookeeper_init_ssl(const char* host, const char* cert, watcher_fn fn, int recv_timeout,
                                         const clientid_t* clientid, void* context, int flags);
#endif

namespace latchkey::detail {

#ifdef LATCHKEY_HAVE_ZOOKEEPER_TLS

void validate_tls(const std::string& tls) {
  const auto commas = std::count(tls.begin(), tls.end(), ',');
  const bool hollow = tls.starts_with(',') || tls.ends_with(',') || tls.find(",,") != std::string::npos;
  if (commas < 2 || commas > 3 || hollow) {  // the C client would read a null pointer
    throw error{errc::bad_option,
                "client_options::tls cannot be parsed; write \"ca.pem,client.pem,client.key,password\""};
  }
}

zhandle_t* open_with_tls(const std::string& servers, const std::string& tls, watcher_fn watcher, int timeout,
                         const clientid_t* whose, void* context, int flags, log_callback_fn log) noexcept {
  static std::mutex one_by_one;  // it uses strtok
  const std::lock_guard lock{one_by_one};
  const auto missing = missing_password(tls);  // a copy of `tls` has no password in it
  const auto completed = missing.empty() ? std::string{} : tls + missing;
  const auto& certificates = missing.empty() ? tls : completed;
  auto* handle = zookeeper_init_ssl(servers.c_str(), certificates.c_str(), watcher, timeout, whose, context, flags);
  if (handle != nullptr) zoo_set_log_callback(handle, log);
  return handle;
}

#else

void validate_tls(const std::string&) {
  throw error{errc::unsupported,
              "client_options::tls is set, but this build of libzookeeper_mt has no TLS; use a TLS proxy, such as "
              "stunnel with checkHost (see OPERATIONS.md)"};
}

zhandle_t* open_with_tls(const std::string&, const std::string&, watcher_fn, int, const clientid_t*, void*, int,
                         log_callback_fn) noexcept {
  errno = ENOTSUP;
  return nullptr;
}

#endif

}  // namespace latchkey::detail
