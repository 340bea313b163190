// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Authentication and access control lists.

#include <string>

#include <latchkey/export.hpp>

namespace latchkey {

/// Credentials for one of ZooKeeper's authentication schemes, most often "digest" with "user:password".
struct credentials {
  std::string scheme;  ///< such as "digest"; not empty
  std::string data;    ///< what the scheme expects; for "digest": "user:password"
};

/// One entry of an access control list, with the values that `zkCli` shows as "world:anyone:cdrwa".
struct acl_entry {
  std::string scheme;       ///< "world", "auth", "digest" or "ip"
  std::string id;           ///< a user of that scheme; "anyone" for "world"; for "digest" no password, but its digest:
                            ///< "user:" and 28 characters of base64
  std::string permissions;  ///< letters of "cdrwa": create, delete, read, write, admin
};

}  // namespace latchkey
