// SPDX-License-Identifier: Apache-2.0
#include "bridge/access_list.hpp"

#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <latchkey/error.hpp>

#include <latchkey/error.hpp>

namespace latchkey::detail {
namespace {

std::int32_t bit_of(char letter) {
  switch (letter) {
    case 'c':
      return ZOO_PERM_CREATE;
    case 'd':
      return ZOO_PERM_DELETE;
    case 'r':
      return ZOO_PERM_READ;
    case 'w':
      return ZOO_PERM_WRITE;
    case 'a':
      return ZOO_PERM_ADMIN;
    default:
      return 0;
  }
}

std::int32_t bits_of(const acl_entry& entry) {
  std::int32_t bits = 0;
  for (const char letter : entry.permissions) {
    const auto bit = bit_of(letter);
    if (bit == 0) {
      throw error{
          errc::bad_option,
          fmt::format(
              "the permissions \"{}\" of the ACL entry {}:{} have an unknown letter; use c (create), d (delete), "
              "r (read), w (write) and a (admin)",
              entry.permissions, entry.scheme, entry.id)};
    }
    bits |= bit;
  }
  if (bits == 0) {
    throw error{errc::bad_option,
                fmt::format("the ACL entry {}:{} has no permissions; give it letters of \"cdrwa\", or remove it",
                            entry.scheme, entry.id)};
  }
  return bits;
}

/// A lock needs c to create entries, r to list them and d to delete them, granted to some id each.
void require_enough(const std::vector<ACL>& entries) {
  struct permission {
    std::int32_t bit;
    std::string_view name;
  };
  std::int32_t given = 0;
  for (const auto& each : entries) given |= each.perms;
  for (const auto [bit, name] : {permission{ZOO_PERM_CREATE, "c (create)"}, permission{ZOO_PERM_DELETE, "d (delete)"},
                                 permission{ZOO_PERM_READ, "r (read)"}}) {
    if ((given & bit) != 0) continue;
    throw error{
        errc::bad_option,
        fmt::format("no entry of client_options::acl has the permission {}; add it, because a lock needs c, d and r",
                    name)};
  }
}

}  // namespace

access_list::access_list(std::vector<acl_entry> entries) : entries_{std::move(entries)} {
  acl_.reserve(entries_.size());
  for (auto& entry : entries_) {
    if (entry.scheme.empty()) {
      throw error{errc::bad_option, "an ACL entry has no scheme; use \"world\", \"auth\", \"digest\" or \"ip\""};
    }
    acl_.push_back({bits_of(entry), {entry.scheme.data(), entry.id.data()}});
  }
  if (!acl_.empty()) require_enough(acl_);
  view_ = {static_cast<std::int32_t>(acl_.size()), acl_.data()};
}

}  // namespace latchkey::detail
