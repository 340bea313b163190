// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Who may do what: authentication and access control lists.

#include <string>

namespace latchkey {

/// Credentials for one authentication scheme of ZooKeeper, "digest" with "user:password" above all.
struct credentials {
  std::string scheme;  ///< "digest", for example
  std::string data;    ///< for "digest": "user:password"
};

/// One entry of an access control list, as `zkCli` writes it: scheme "world", id "anyone", permissions "cdrwa".
struct acl_entry {
  std::string scheme;       ///< "world", "auth", "digest" or "ip"
  std::string id;           ///< whom of that scheme: "anyone" for "world"
  std::string permissions;  ///< letters of "cdrwa": create, delete, read, write, administer
};

}  // namespace latchkey
