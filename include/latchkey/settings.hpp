// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Settings of a client as text, from environment variables, options of a program and files.
/// `client::from_environment` and the command `latchkey` read them so.

#include <chrono>
#include <string>
#include <string_view>
#include <vector>

#include <latchkey/access.hpp>
#include <latchkey/duration.hpp>
#include <latchkey/export.hpp>
#include <latchkey/given_text.hpp>

namespace latchkey {

/// Reads a number with the unit "ms", "s", "m", "h" or "d", as "500ms", "1.5h"; one without a unit is seconds.
/// @returns it, rounded up.
/// @throws std::invalid_argument for any other text, and for more than `most`; says how to write it
LATCHKEY_EXPORT std::chrono::milliseconds parse_duration(given_text<std::string_view> text,
                                                         std::chrono::milliseconds most = std::chrono::hours{24});

/// Reads an access control list as `client_options::acl` takes it: "auth::cdrwa,world:anyone:r". An id has no comma.
/// @returns no entry of an empty text.
/// @throws std::invalid_argument for any other text; repeats nothing of what may be a password
LATCHKEY_EXPORT std::vector<acl_entry> parse_acl(given_text<std::string_view> text);

/// Reads what `client_options::authentication` takes from a file with a line "scheme:data" for each, as
/// "digest:user:password". Empty lines are left out, and those that begin with #. None but its owner may read or write the
/// file: its mode is 0600 or 0400.
///
/// Blocks the thread as long as the file system does.
/// @throws error bad_option; repeats no line of the file
LATCHKEY_EXPORT std::vector<credentials> read_credentials(given_text<std::string> file);

}  // namespace latchkey
