// SPDX-License-Identifier: Apache-2.0
#include "bridge/access_list.hpp"

#include <algorithm>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include <latchkey/error.hpp>

#include "base/characters.hpp"
#include "base/escape.hpp"

namespace latchkey::detail {
namespace {

constexpr std::size_t longest_scheme = 64;
constexpr std::size_t longest_id_shown = 64;

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

/// ZooKeeper takes any text, and then no user matches: "user:", and the SHA-1 of "user:password" in base64.
void require_digest(const acl_entry& entry) {
  constexpr std::size_t digits = 27;  // of 20 bytes, and an equals sign
  const std::string_view id{entry.id};
  const auto colon = id.find(':');
  const auto digest = colon == std::string_view::npos ? std::string_view{} : id.substr(colon + 1);
  const bool right = colon != 0 && digest.size() == digits + 1 && digest.back() == '=' &&
                     std::all_of(digest.begin(), digest.end() - 1,
                                 [](char each) { return is_letter_or_digit(each) || each == '+' || each == '/'; });
  if (right) return;
  throw error{
      errc::bad_option,
      fmt::format("the id of the ACL entry {} is not \"user:\" and the base64 of a SHA-1, so no user would have "
                  "its permissions; take it from `DigestAuthenticationProvider user:password`, or use the "
                  "scheme \"auth\" with an empty id",
                  name_of(entry))};
}

std::int32_t bits_of(const acl_entry& entry) {
  std::int32_t bits = 0;
  for (const char letter : entry.permissions) {
    const auto bit = bit_of(letter);
    if (bit == 0) {
      throw error{
          errc::bad_option,
          fmt::format("the permissions \"{}\" of the ACL entry {} have an unknown letter; use c (create), d (delete), "
                      "r (read), w (write) and a (admin)",
                      escaped(entry.permissions.substr(0, 64)), name_of(entry))};
    }
    bits |= bit;
  }
  if (bits == 0) {
    throw error{
        errc::bad_option,
        fmt::format("the ACL entry {} has no permissions; give it letters of \"cdrwa\", or remove it", name_of(entry))};
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

std::string name_of(const acl_entry& entry) {
  const auto colon = entry.id.find(':');
  const bool may_be_password = colon == entry.id.npos && entry.scheme == "digest";
  auto shown = may_be_password ? std::string{} : entry.id.substr(0, std::min(colon, longest_id_shown));
  if (shown.size() < entry.id.size()) shown += "...";
  return escaped(fmt::format("{}:{}", entry.scheme, shown));
}

bool is_scheme(std::string_view text) noexcept {
  return !text.empty() && text.size() <= longest_scheme && std::all_of(text.begin(), text.end(), is_of_name);
}

access_list::access_list(std::vector<acl_entry> entries) : entries_{std::move(entries)} {
  acl_.reserve(entries_.size());
  for (auto& entry : entries_) {
    if (!is_scheme(entry.scheme)) {
      throw error{errc::bad_option,
                  entry.scheme.empty()
                      ? "an ACL entry has no scheme; use \"world\", \"auth\", \"digest\" or \"ip\""
                      : "the scheme of an ACL entry has a character that no scheme has; use \"world\", "
                        "\"auth\", \"digest\" or \"ip\", and put the rest into the id"};
    }
    if (entry.scheme == "digest") require_digest(entry);
    acl_.push_back({bits_of(entry), {entry.scheme.data(), entry.id.data()}});
  }
  if (!acl_.empty()) require_enough(acl_);
  view_ = {static_cast<std::int32_t>(acl_.size()), acl_.data()};
}

}  // namespace latchkey::detail
