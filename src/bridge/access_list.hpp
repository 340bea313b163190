// SPDX-License-Identifier: Apache-2.0
#pragma once

/// The access control list of new nodes, as the C client wants it.

#include <string>
#include <string_view>
#include <vector>

#include <latchkey/access.hpp>

#include <zookeeper/zookeeper.h>

namespace latchkey::detail {

/// @returns the entry for a message. What may be a password is cut: an id from its first colon on, and one of a digest that
/// has none.
std::string name_of(const acl_entry& entry);

/// @returns whether it may be the name of a scheme. The C client logs the scheme of credentials.
bool is_scheme(std::string_view text) noexcept;

/// Neither copied nor moved: the C structures point into it.
class access_list {
 public:
  /// @param entries empty: open to all
  /// @throws error bad_option for permissions that are not letters of "cdrwa", for entries of which none has c, d or r,
  /// and for the scheme "digest" with an id that no user can have
  explicit access_list(std::vector<acl_entry> entries);
  access_list(const access_list&) = delete;
  access_list& operator=(const access_list&) = delete;

  /// Valid as long as this object.
  const ACL_vector* get() const noexcept { return acl_.empty() ? &ZOO_OPEN_ACL_UNSAFE : &view_; }

 private:
  std::vector<acl_entry> entries_;
  std::vector<ACL> acl_;
  ACL_vector view_{};
};

}  // namespace latchkey::detail
