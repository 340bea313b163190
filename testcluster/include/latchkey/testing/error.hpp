// SPDX-License-Identifier: Apache-2.0
#pragma once
// What the test cluster throws. Everything derives from cluster_error, whose message is meant for a human; only the number
// of a server that there is not is std::out_of_range.

#include <stdexcept>
#include <string>

#include "latchkey/testing/export.hpp"

namespace latchkey::testing {

/// Something about the cluster failed: a server did not start, did not answer, or there is no quorum in time.
class LATCHKEY_TESTING_EXPORT cluster_error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Java or ZooKeeper's jar is missing; the message names the Debian packages to install.
class LATCHKEY_TESTING_EXPORT missing_package : public cluster_error {
 public:
  using cluster_error::cluster_error;
};

/// No connection, the connection broke, or no answer in time. The request may or may not have been executed.
class LATCHKEY_TESTING_EXPORT connection_failure : public cluster_error {
 public:
  using cluster_error::cluster_error;
};

/// The server refused to attach to a session: it has ended, or the password is wrong.
class LATCHKEY_TESTING_EXPORT session_refused : public cluster_error {
 public:
  using cluster_error::cluster_error;
};

/// The server answered a request with an error. code() is ZooKeeper's: -101 no node, -110 node exists, -111 not empty.
class LATCHKEY_TESTING_EXPORT operation_failed : public cluster_error {
 public:
  operation_failed(int code, const std::string& what) : cluster_error(what), code_(code) {}
  [[nodiscard]] int code() const noexcept { return code_; }

 private:
  int code_;
};

}  // namespace latchkey::testing
