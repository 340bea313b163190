// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Authentication and access control lists.

#include <chrono>
#include <optional>
#include <string>

#include <latchkey/duration.hpp>
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

class client;

/// What the access control list of a node lets anyone do who can connect to the ensemble. At the path of a lock, "d"
/// deletes its entries, and "a" changes the list itself.
///
/// Costs one read. Suspends the calling fiber, or blocks a plain thread, at most `timeout`, or 200 ms if that is not
/// positive.
/// @returns letters of "cdrwa", as of `acl_entry::permissions`; nothing if there is no such node.
/// @throws error bad_path, unreachable, not_authorized (the list itself needs "r" or "a"), authentication_failed,
///         data_lost, closed; refused by a simulated ensemble, which has no access control lists
LATCHKEY_EXPORT std::optional<std::string> permissions_of_anyone(
    client& through, const std::string& path, saturating<std::chrono::nanoseconds> timeout = std::chrono::seconds{10});

}  // namespace latchkey
